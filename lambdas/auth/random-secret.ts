/** Random secrets that cannot be guessed: codes, refresh tokens, sessions. Stores hold only their SHA-256. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** Returns 256 random bits, as base64url. */
export const createRandomSecret = (): string => randomBytes(32).toString('base64url')

export const fingerprintOf = (text: string): string => createHash('sha256').update(text).digest('base64url')

/** Whether `hash` is the fingerprint of the secret. Compares in constant time. */
export function isFingerprintOf(secret: string, hash: string): boolean {
  const [given, stored] = [Buffer.from(fingerprintOf(secret)), Buffer.from(hash)]
  return given.length === stored.length && timingSafeEqual(given, stored)
}
