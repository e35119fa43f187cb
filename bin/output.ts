/** What the command line prints. Nobody reads, the disk is full, the stream is closed: then it is not told, and nothing else happens. */

/** For a person, or the next command: standard output. */
export const print = (text: string): void => void ignoreStreamErrors(process.stdout).write(text)

/** What went wrong: standard error. */
export const printError = (text: string): void => void ignoreStreamErrors(process.stderr).write(text)

/** Characters of what others say. */
const LONGEST = 500

/** What others say, so that it does nothing to a terminal. */
export const toOneLine = (text: string): string => text.replaceAll(/\p{Cc}+/gu, ' ').slice(0, LONGEST)

/** Returns a number with what it counts: `1 file`, `2 files`. */
export const formatCount = (count: number, one: string, several = `${one}s`): string => `${count} ${count === 1 ? one : several}`

/** What somebody should know, and nothing ends for. */
export const warn = (line: string): void => printError(`fhir: ${line}\n`)

/** What a command ends with, in one line; of what the operating system refused, the place and its code. `folder`: what is written into. */
export function errorMessageOf(error: unknown, folder?: string): string {
  const { code, syscall, path, message } = error as NodeJS.ErrnoException
  const isRefused = code !== undefined && syscall !== undefined
  if (isRefused && path !== undefined) return `${path} cannot be used (${code}, ${syscall})`
  // Of a file that is open no path is known.
  return isRefused && folder !== undefined ? `${folder} cannot be written to (${code}, ${syscall})` : message
}

/** A stream whose failures end nothing: unheard, they would end the process. It is written to again when it can be. */
export function ignoreStreamErrors(stream: NodeJS.WriteStream): NodeJS.WriteStream {
  if (!stream.listeners('error').includes(ignore)) stream.on('error', ignore)
  return stream
}

const ignore = (): void => undefined
