/** Seal by AES-256-GCM with a key the caller keeps. */
import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Seal } from '../../ports/seal.ts'

const ALGORITHM = 'aes-256-gcm'
const IV = 12
const TAG = 16
const LARGEST = 1 << 20

export class AesSeal implements Seal {
  readonly #key: KeyObject

  /** `key`: 32 bytes. */
  constructor(key: Uint8Array) {
    // From bytes, each use would make it again, which takes as long as the sealing.
    this.#key = createSecretKey(key)
  }

  seal(text: string, at: number): string {
    const iv = randomBytes(IV)
    const cipher = createCipheriv(ALGORITHM, this.#key, iv)
    const instant = Buffer.alloc(8)
    instant.writeDoubleBE(at)
    const hidden = Buffer.concat([cipher.update(Buffer.concat([instant, deflateRawSync(text)])), cipher.final()])
    return Buffer.concat([iv, cipher.getAuthTag(), hidden]).toString('base64url')
  }

  open(sealed: string): { text: string; at: number } | undefined {
    const bytes = Buffer.from(sealed, 'base64url')
    if (bytes.length <= IV + TAG || bytes.toString('base64url') !== sealed) return undefined
    try {
      const decipher = createDecipheriv(ALGORITHM, this.#key, bytes.subarray(0, IV))
      decipher.setAuthTag(bytes.subarray(IV, IV + TAG))
      const shown = Buffer.concat([decipher.update(bytes.subarray(IV + TAG)), decipher.final()])
      return { at: shown.readDoubleBE(0), text: inflateRawSync(shown.subarray(8), { maxOutputLength: LARGEST }).toString() }
    } catch {
      return undefined
    }
  }
}
