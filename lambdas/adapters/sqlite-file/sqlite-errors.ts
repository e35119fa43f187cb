/** What SQLite says of a file, in the words of the ports. https://www.sqlite.org/rescode.html */
import { Damaged } from '../../ports/faults/damaged.ts'
import { DiskFull } from '../../ports/faults/disk-full.ts'
import { Overloaded } from '../../ports/faults/overloaded.ts'

const [BUSY, CORRUPT, FULL, NOT_A_DATABASE] = [5, 11, 13, 26]
/** What a file that may not grow is told, and one in memory beside it. */
const [NOT_WRITTEN, NOT_GROWN] = [778, 4_874]

/** What is more than 255 says more of the code in the lowest byte. */
const codeOf = (error: unknown): number => ((error as { readonly errcode?: number }).errcode ?? 0) & 0xff

/** Another process, or thread, writes. */
export const isBusy = (error: unknown): boolean => codeOf(error) === BUSY
export const isDamageError = (error: unknown): boolean => [NOT_A_DATABASE, CORRUPT].includes(codeOf(error))

/** True if SQLite found no room on the disk. SQLite has then undone the change. */
export const isDiskFull = (error: unknown): boolean =>
  codeOf(error) === FULL || [NOT_WRITTEN, NOT_GROWN].includes((error as { readonly errcode?: number }).errcode ?? 0)

/** `kept`: what is in the file, for messages. */
export type FileDescription = { readonly file: string; readonly kept: string }

/** Overloaded where the other process kept the file, DiskFull, Damaged where it cannot be read, else the error itself. */
export function toFileFault(error: unknown, { file, kept }: FileDescription): unknown {
  if (isBusy(error)) return new Overloaded(`another process keeps the file of ${kept}`, { cause: error })
  if (isDiskFull(error)) return new DiskFull(`the disk takes no more ${kept}`, { cause: error })
  return isDamageError(error) ? new Damaged('store', `${file} is damaged`, { cause: error }) : error
}
