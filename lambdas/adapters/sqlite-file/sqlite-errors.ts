/** Maps SQLite errors to the faults of the ports. https://www.sqlite.org/rescode.html */
import { MachineFault } from '../../ports/faults.ts'

const [BUSY, CORRUPT, FULL, NOT_A_DATABASE] = [5, 11, 13, 26]
/** Codes if the file, or the shared memory file beside it, cannot grow. */
const [NOT_WRITTEN, NOT_GROWN] = [778, 4_874]

/** Extended codes carry the primary code in the lowest byte. */
const codeOf = (error: unknown): number => ((error as { readonly errcode?: number }).errcode ?? 0) & 0xff

/** Whether another process or thread is writing. */
export const isBusy = (error: unknown): boolean => codeOf(error) === BUSY
export const isDamageError = (error: unknown): boolean => [NOT_A_DATABASE, CORRUPT].includes(codeOf(error))

/** Whether SQLite found no space on the disk. SQLite has then undone the change. */
export const isDiskFull = (error: unknown): boolean =>
  codeOf(error) === FULL || [NOT_WRITTEN, NOT_GROWN].includes((error as { readonly errcode?: number }).errcode ?? 0)

/** `kept`: content of the file, for messages. */
export type FileDescription = { readonly file: string; readonly kept: string }

/**
 * Returns `overloaded` if another process holds the lock, `disk-full` if the disk is full, and `store-damaged` if the file is damaged.
 * Otherwise returns the error itself.
 */
export function toFileFault(error: unknown, { file, kept }: FileDescription): unknown {
  if (isBusy(error)) return new MachineFault('overloaded', `another process keeps the file of ${kept}`, { cause: error })
  if (isDiskFull(error)) return new MachineFault('disk-full', `the disk takes no more ${kept}`, { cause: error })
  return isDamageError(error) ? new MachineFault('store-damaged', `${file} is damaged`, { cause: error }) : error
}
