/** What the log of the embedded home says of a machine error. */
import { NotIndexed } from '../indexing/unindexable-versions.ts'
import { Damaged } from '../ports/faults/damaged.ts'
import { DiskFull } from '../ports/faults/disk-full.ts'
import { NotFetched } from '../ports/security/fetch-document.ts'

/**
 * Returns the text that the log shows for an error. That is the message for errors of data, disk, indexing, fetches, the operating system and
 * memory. Other errors have their place and no message, because it may hold content.
 */
export function logTextOf(error: unknown): string {
  if (error instanceof Damaged || error instanceof DiskFull || error instanceof NotFetched || error instanceof NotIndexed)
    return error.message
  if (isOfSystem(error) || isOutOfMemory(error)) return error.message
  if (!(error instanceof Error)) return typeof error
  const places = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  return `${error.name}\n${places.join('\n')}`
}

/** Of a thread. https://nodejs.org/api/errors.html#err_worker_out_of_memory */
export const isOutOfMemory = (error: unknown): error is NodeJS.ErrnoException =>
  (error as NodeJS.ErrnoException | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY'

/** With a code, and the path of a file or the address of a socket: nothing of a request is in the name of either. */
function isOfSystem(error: unknown): error is NodeJS.ErrnoException {
  const { syscall, code } = (error ?? {}) as Partial<NodeJS.ErrnoException>
  return syscall !== undefined && code !== undefined
}

/** What it says, in one line; what each says where closing several things failed. */
export function messageLineOf(error: unknown): string {
  if (error instanceof SuppressedError) return `${messageLineOf(error.suppressed)}; ${messageLineOf(error.error)}`
  return error instanceof Error ? error.message : String(error)
}
