/** Log texts of errors. They never contain content of requests or resources. */
import { NotIndexed } from '../indexing/stream/unindexable-versions.ts'
import { isFault } from '../ports/faults.ts'
import { NotFetched } from '../ports/security/fetch-document.ts'

/**
 * Returns the log text of an error. Only the messages of damaged files, disk, indexing, fetches, operating system and memory are known to
 * hold no content. For all other errors the text is the name and the stack locations.
 */
export function logTextOf(error: unknown): string {
  if (isFault(error, 'store-damaged', 'index-damaged', 'disk-full') || error instanceof NotFetched || error instanceof NotIndexed)
    return error.message
  if (isOfSystem(error) || isOutOfMemory(error)) return error.message
  if (!(error instanceof Error)) return typeof error
  const places = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  return `${error.name}\n${places.join('\n')}`
}

/** Whether a worker thread ran out of memory. https://nodejs.org/api/errors.html#err_worker_out_of_memory */
export const isOutOfMemory = (error: unknown): error is NodeJS.ErrnoException =>
  (error as NodeJS.ErrnoException | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY'

/**
 * Whether the operating system raised the error. Its message contains a code and a file path or socket address, but nothing of a request.
 */
function isOfSystem(error: unknown): error is NodeJS.ErrnoException {
  const { syscall, code } = (error ?? {}) as Partial<NodeJS.ErrnoException>
  return syscall !== undefined && code !== undefined
}

/** Returns the message of an error. If further errors occurred while resources were closed, joins their messages. */
export function messageLineOf(error: unknown): string {
  if (error instanceof SuppressedError) return `${messageLineOf(error.suppressed)}; ${messageLineOf(error.error)}`
  return error instanceof Error ? error.message : String(error)
}
