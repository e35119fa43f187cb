/** Texts nobody can guess: codes, refresh tokens, sessions. What is kept of one is its SHA-256. */
import { createHash, randomBytes } from 'node:crypto'

/** 256 random bits. */
export const createRandomSecret = (): string => randomBytes(32).toString('base64url')

export const fingerprintOf = (text: string): string => createHash('sha256').update(text).digest('base64url')
