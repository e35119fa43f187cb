/**
 * Compartments and body of a version. Each is in its own column, or both are packed together in the column `body`. The row then names the
 * dictionary.
 */
import type { DatabaseSync } from 'node:sqlite'
import { UnpackError, unpack } from '../../dictionary-codec/unpack.ts'
import { damagedError } from '../damage.ts'
import { Dictionaries } from './dictionaries.ts'

/** Content of a version. `compartments`: as stored, separated by spaces. */
export type VersionContent = { readonly compartments: string; readonly body: Uint8Array }
/** Content as stored. `dictionary`: null if the content is not packed. */
export type StoredContent = VersionContent & { readonly dictionary: number | null }

const NEWLINE = 10

/** Joins the content for packing. A newline separates the parts, because compartments contain none. */
export const joinContent = ({ compartments, body }: VersionContent): Uint8Array => Buffer.concat([Buffer.from(`${compartments}\n`), body])

function split(bytes: Uint8Array): VersionContent {
  const end = bytes.indexOf(NEWLINE)
  const compartments = Buffer.from(bytes.buffer, bytes.byteOffset, Math.max(end, 0)).toString()
  return { compartments, body: bytes.subarray(end + 1) }
}

export class ContentReader {
  readonly #dictionaries: Dictionaries

  constructor(db: DatabaseSync) {
    this.#dictionaries = new Dictionaries(db)
  }

  /**
   * Returns the content, unpacked if necessary. Throws the fault `store-damaged` if it cannot be unpacked. Wrong content is found only by
   * the checksum, which the caller must verify.
   */
  of(stored: StoredContent): VersionContent {
    if (stored.dictionary === null) return stored
    if (stored.compartments !== '') throw damagedError('a version has compartments twice')
    return split(this.#unpacked(stored.dictionary, stored.body))
  }

  #unpacked(dictionary: number, packed: Uint8Array): Uint8Array {
    try {
      return unpack(packed, this.#dictionaries.bytesOf(dictionary))
    } catch (error) {
      throw error instanceof UnpackError ? damagedError('a version cannot be unpacked', error) : error
    }
  }
}
