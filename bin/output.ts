/** Output of the command line. If it cannot be written (closed stream, full disk), the text is lost and the command continues. */

/** Writes results to standard output, for the user or the next command of a pipe. */
export const print = (text: string): void => void ignoreStreamErrors(process.stdout).write(text)

let isOutputClosed = false
const noteClosedOutput = (): void => {
  isOutputClosed = true
}

/**
 * Writes a text to standard output, and waits until the reader has taken most of it. Resolves to false if the output is closed. The error is
 * noted, because Node resets `destroyed` of a pipe.
 */
export async function printInTurn(text: string): Promise<boolean> {
  const { stdout } = process
  if (!stdout.listeners('error').includes(noteClosedOutput)) stdout.on('error', noteClosedOutput)
  print(text)
  if (stdout.writableNeedDrain)
    await new Promise<void>((resolve) => {
      const end = (): void => {
        stdout.off('drain', end).off('error', end).off('close', end)
        resolve()
      }
      stdout.on('drain', end).on('error', end).on('close', end)
    })
  return !isOutputClosed
}

/** Writes problems and progress to standard error. */
export const printError = (text: string): void => void ignoreStreamErrors(process.stderr).write(text)

/** Maximum characters printed of a text from a server or file. The rest is cut off. */
const LONGEST = 500

/** Makes a text from a server or file safe for a terminal: replaces control characters by spaces and cuts long texts. */
export const toOneLine = (text: string): string => text.replaceAll(/\p{Cc}+/gu, ' ').slice(0, LONGEST)

/** Returns a count with its noun: `1 file`, `2 files`. */
export const formatCount = (count: number, one: string, several = `${one}s`): string => `${count} ${count === 1 ? one : several}`

/** Prints a line for the operator to standard error, prefixed with `fhir:`. */
export const warn = (line: string): void => printError(`fhir: ${line}\n`)

/**
 * Returns the one-line message of the error that ends a command. For a failed system call it names the path and the error code. `folder`:
 * folder that the command writes to.
 */
export function errorMessageOf(error: unknown, folder?: string): string {
  const { code, syscall, path, message } = error as NodeJS.ErrnoException
  const isRefused = code !== undefined && syscall !== undefined
  if (isRefused && path !== undefined) return `${path} cannot be used (${code}, ${syscall})`
  // Errors of an open file carry no path, so the message names the folder.
  return isRefused && folder !== undefined ? `${folder} cannot be written to (${code}, ${syscall})` : message
}

/** Ignores the errors of a stream and returns it. An unhandled `error` event would end the process. Later writes are still attempted. */
export function ignoreStreamErrors(stream: NodeJS.WriteStream): NodeJS.WriteStream {
  if (!stream.listeners('error').includes(ignore)) stream.on('error', ignore)
  return stream
}

const ignore = (): void => undefined
