/** Compartments and body of a version: each in its column, or both packed in that of the body, by the dictionary that the row names. */
import type { DatabaseSync } from 'node:sqlite'
import { UnpackError, unpack } from '../../dictionary-codec/unpack.ts'
import { damagedError } from '../damage.ts'
import { Dictionaries } from './dictionaries.ts'

/** `compartments`: as a row has them. */
export type VersionContent = { readonly compartments: string; readonly body: Uint8Array }
/** `dictionary`: null where nothing is packed. */
export type StoredContent = VersionContent & { readonly dictionary: number | null }

const NEWLINE = 10

/** What is packed: compartments have no newline. */
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

  /** Damaged where it cannot be unpacked; whether it is what was written, the checksum tells. */
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
