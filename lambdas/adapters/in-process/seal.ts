/** Seals texts by AES-256-GCM with a given key. Computes digests of queries with a key derived from it. */
import { createCipheriv, createDecipheriv, createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { QueryDigest } from '../../ports/security/query-digest.ts'
import type { Seal } from '../../ports/security/seal.ts'

const ALGORITHM = 'aes-256-gcm'
const IV = 12
const TAG = 16
/** Bytes of the HMAC that a digest of a query retains. */
const DIGEST = 16
const LARGEST = 1 << 20
/** Maximum bytes of a text that is stored uncompressed, because compressing it would take longer than sealing it. */
const SHORT = 512

export class AesSeal implements Seal, QueryDigest {
  readonly #key: KeyObject
  readonly #digestKey: KeyObject

  /** `key`: 32 bytes. */
  constructor(key: Uint8Array) {
    // Converts the key once. With raw bytes every call would convert it, which takes as long as the sealing.
    this.#key = createSecretKey(key)
    // Digests have a key of their own, so that they reveal nothing about sealed texts.
    this.#digestKey = createSecretKey(createHmac('sha256', key).update('audit queries').digest())
  }

  seal(text: string, at: number): string {
    const iv = randomBytes(IV)
    const cipher = createCipheriv(ALGORITHM, this.#key, iv)
    const instant = Buffer.alloc(8)
    instant.writeDoubleBE(at)
    const hidden = Buffer.concat([cipher.update(Buffer.concat([instant, deflated(text)])), cipher.final()])
    return Buffer.concat([iv, cipher.getAuthTag(), hidden]).toString('base64url')
  }

  digest(query: string): string {
    return createHmac('sha256', this.#digestKey).update(query).digest().toString('base64url', 0, DIGEST)
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

/** Returns the text in deflate format. A short text becomes an uncompressed block. https://www.rfc-editor.org/rfc/rfc1951#section-3.2.4 */
function deflated(text: string): Uint8Array {
  const length = Buffer.byteLength(text)
  if (length > SHORT) return deflateRawSync(text)
  const block = Buffer.alloc(STORED + length)
  block.writeUInt8(LAST_STORED, 0)
  block.writeUInt16LE(length, 1)
  block.writeUInt16LE(length ^ 0xffff, 3)
  block.write(text, STORED)
  return block
}

/**
 * LAST_STORED: first byte of a final uncompressed block. STORED: bytes of its header, which are this byte, the length, and the complement
 * of the length.
 */
const LAST_STORED = 1
const STORED = 5
