/** What tells a damaged store from a sound one: SQLite's own errors, a checksum per version, and rows that are missing. */
import { crc32 } from 'node:zlib'
import { Damaged } from '../../ports/faults/damaged.ts'
import { Unavailable } from '../../ports/faults/unavailable.ts'

/** The disk failed to read: for a moment or for good, nobody can tell from it. */
const UNREAD = 266

/** https://www.sqlite.org/rescode.html. A disk that cannot be written damages nothing: what failed is not in the log. */
const CODES: Readonly<Record<number, string>> = {
  522: 'the disk reads less than was written',
  11: 'it is malformed',
  26: 'it is not a database any more',
}

/** Of node:sqlite, for an integer that no number of JavaScript is: nothing here writes one. */
const isTooLarge = (error: unknown): boolean => (error as { readonly code?: string }).code === 'ERR_OUT_OF_RANGE'

const codeOf = (error: unknown): number => (error as { readonly errcode?: number }).errcode ?? 0

/** What SQLite says of a file that it cannot make sense of; undefined where it is about something else. */
function reasonOf(error: unknown): string | undefined {
  if (isTooLarge(error)) return 'a number in it is too large'
  const errcode = codeOf(error)
  // What is more than 255 says more of the code in the lowest byte.
  return CODES[errcode] ?? CODES[errcode & 0xff]
}

/** Of a file that can be made again: what the disk does not read is not kept either. */
export const isDamageError = (error: unknown): boolean => codeOf(error) === UNREAD || reasonOf(error) !== undefined

/** Damaged for such an error of the store's file, Unavailable where the disk did not read it; the error itself otherwise. */
export function toStoreFault(error: unknown): unknown {
  if (codeOf(error) === UNREAD) return new Unavailable('the disk does not read the store', { cause: error })
  const reason = reasonOf(error)
  return reason === undefined ? error : damagedError(reason, error)
}

export const damagedError = (reason: string, cause?: unknown): Damaged => new Damaged('store', `the store is damaged: ${reason}`, { cause })

/** Reads, and tells damage, and a disk that may yet read, from other errors. */
export function runRead<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw toStoreFault(error)
  }
}

/** A row that another one promises. */
export function requireRow<Row>(row: Row | undefined): Row {
  if (row === undefined) throw damagedError('a version is missing')
  return row
}

/** What a version's row and its checksum are about. `compartments`: as they are stored. */
export type ChecksumInput = {
  readonly type: string
  readonly id: string
  readonly versionId: number
  readonly lastUpdated: number
  readonly deleted: number
  readonly made: number | null
  readonly compartments: string
  readonly body: Uint8Array
}

/** CRC-32 of what a version is and of its body. Signed: SQLite keeps that in four bytes. */
export const checksumOf = ({ type, id, versionId, lastUpdated, deleted, made, compartments, body }: ChecksumInput): number =>
  crc32(body, crc32(`${type}/${id}/${versionId} ${lastUpdated} ${deleted}${made === null ? '' : `+${made}`} ${compartments}`)) | 0
