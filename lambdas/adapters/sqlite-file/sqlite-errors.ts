/** Converts SQLite errors to the faults of the ports. https://www.sqlite.org/rescode.html */
import { MachineFault } from '../../ports/faults.ts'

const [BUSY, CORRUPT, FULL, NOT_A_DATABASE] = [5, 11, 13, 26]
/** Extended codes of a failed write, and of a shared-memory file beside the database that cannot grow. */
const [NOT_WRITTEN, NOT_GROWN] = [778, 4_874]

/** Returns the primary result code, which is the lowest byte of an extended code. */
const codeOf = (error: unknown): number => ((error as { readonly errcode?: number }).errcode ?? 0) & 0xff

/** Whether the error means that another process or thread is writing. */
export const isBusy = (error: unknown): boolean => codeOf(error) === BUSY
export const isDamageError = (error: unknown): boolean => [NOT_A_DATABASE, CORRUPT].includes(codeOf(error))

/** Whether the error means that the disk is full. SQLite has then undone the change. */
export const isDiskFull = (error: unknown): boolean =>
  codeOf(error) === FULL || [NOT_WRITTEN, NOT_GROWN].includes((error as { readonly errcode?: number }).errcode ?? 0)

/** `kept`: what the file stores, for messages. */
export type FileDescription = { readonly file: string; readonly kept: string }

/**
 * Converts an error of SQLite to a fault: `overloaded` if another connection holds the lock, `disk-full`, or `store-damaged`. Returns any
 * other error unchanged.
 */
export function toFileFault(error: unknown, { file, kept }: FileDescription): unknown {
  if (isBusy(error)) return new MachineFault('overloaded', `another process keeps the file of ${kept}`, { cause: error })
  if (isDiskFull(error)) return new MachineFault('disk-full', `the disk takes no more ${kept}`, { cause: error })
  return isDamageError(error) ? new MachineFault('store-damaged', `${file} is damaged`, { cause: error }) : error
}
