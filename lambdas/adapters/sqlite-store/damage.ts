/** Detects a damaged store: by SQLite errors, by a checksum per version and by missing rows. */
import { crc32 } from 'node:zlib'
import { MachineFault } from '../../ports/faults.ts'

/** SQLITE_IOERR_READ: the disk failed to read. The code does not show whether the failure is temporary. */
const UNREAD = 266

/**
 * Reasons by SQLite code of a damaged file. https://www.sqlite.org/rescode.html. Codes of failed writes are absent, because SQLite rolls
 * such a write back.
 */
const CODES: Readonly<Record<number, string>> = {
  522: 'the disk reads less than was written',
  11: 'it is malformed',
  26: 'it is not a database any more',
}

/** Whether node:sqlite read an integer outside JavaScript's safe range. The server never writes one, so the file is damaged. */
const isTooLarge = (error: unknown): boolean => (error as { readonly code?: string }).code === 'ERR_OUT_OF_RANGE'

const codeOf = (error: unknown): number => (error as { readonly errcode?: number }).errcode ?? 0

/** Returns the reason if the error means that the file is damaged, otherwise undefined. */
function reasonOf(error: unknown): string | undefined {
  if (isTooLarge(error)) return 'a number in it is too large'
  const errcode = codeOf(error)
  // Extended codes carry the primary code in the lowest byte.
  return CODES[errcode] ?? CODES[errcode & 0xff]
}

/**
 * Whether an error means that a file must be discarded and rebuilt, such as the file of an index. True for damage, and if the disk fails to
 * read.
 */
export const isDamageError = (error: unknown): boolean => codeOf(error) === UNREAD || reasonOf(error) !== undefined

/**
 * Returns the fault `store-damaged` if the error means that the store's file is damaged, the fault `unavailable` if the disk failed to read
 * it, otherwise the error itself.
 */
export function toStoreFault(error: unknown): unknown {
  if (codeOf(error) === UNREAD) return new MachineFault('unavailable', 'the disk does not read the store', { cause: error })
  const reason = reasonOf(error)
  return reason === undefined ? error : damagedError(reason, error)
}

export const damagedError = (reason: string, cause?: unknown): MachineFault =>
  new MachineFault('store-damaged', `the store is damaged: ${reason}`, { cause })

/** Runs a read of the store. Throws its errors as `toStoreFault` converts them. */
export function runRead<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw toStoreFault(error)
  }
}

/** Returns a row to which another row refers. Throws the fault `store-damaged` if it is missing. */
export function requireRow<Row>(row: Row | undefined): Row {
  if (row === undefined) throw damagedError('a version is missing')
  return row
}

/** Values of a version that its checksum covers. `compartments`: separated by spaces. */
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

/** Returns the CRC-32 of the version's metadata and unpacked content. It is signed, so that SQLite stores it in at most four bytes. */
export const checksumOf = ({ type, id, versionId, lastUpdated, deleted, made, compartments, body }: ChecksumInput): number =>
  crc32(body, crc32(`${type}/${id}/${versionId} ${lastUpdated} ${deleted}${made === null ? '' : `+${made}`} ${compartments}`)) | 0
