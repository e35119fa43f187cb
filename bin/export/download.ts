/**
 * Downloads one file of an export into a `.part` file beside its final path. A later attempt, also of a later run, continues an interrupted
 * download.
 */
import { createReadStream, createWriteStream } from 'node:fs'
import { readFile, rm, stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { isMissing, replaceDurably } from '../../lambdas/adapters/filesystem/durable-file.ts'
import { ExportFault } from './export-fault.ts'
import type { ExportedFile } from './manifest.ts'
import {
  outcomeSuffixOf,
  type RequestOptions,
  readBoundedText,
  retryTransientFailures,
  sendOnce,
  TransientFailure,
  withoutQuery,
} from './retrying-requests.ts'

/** Size of a downloaded file. `lines`: number of lines that are not empty. */
export type DownloadResult = { readonly bytes: number; readonly lines: number }

/**
 * ETag and size in bytes of the complete file that a `.part` file begins. It is stored beside the `.part` file, so that a later run can
 * continue.
 */
type Whole = { readonly etag?: string; readonly length?: number }

export const partFileOf = (path: string): string => `${path}.part`
export const partStateFileOf = (path: string): string => `${path}.part.json`

/**
 * Downloads a file and checks its size and line count. If they are wrong, the file is downloaded once more, and then ExportFault is thrown.
 * `onBytes`: called with each change of the size of the `.part` file, in bytes. The first change is the size after earlier runs. It is
 * negative for discarded bytes.
 */
export async function download(
  file: ExportedFile,
  path: string,
  options: RequestOptions,
  onBytes: (bytes: number) => void,
): Promise<DownloadResult> {
  const onSize = createSizeReporter(onBytes)
  for (let again = true; ; again = false) {
    const transfer = { onSize, isFarther: rising() }
    await retryTransientFailures(file.url, options, () => fetchRest(file.url, path, options, transfer))
    const { length } = await readPartState(path)
    const found = await measure(partFileOf(path))
    const fault = faultOf(found, file.count, length)
    if (fault === undefined) return found
    await rm(partFileOf(path), { force: true })
    onSize(0)
    if (!again) throw new ExportFault('mismatch', `${file.name} ${fault}`)
  }
}

function faultOf({ bytes, lines }: DownloadResult, count: number | undefined, length: number | undefined): string | undefined {
  if (length !== undefined && bytes !== length) return `has ${bytes} byte${bytes === 1 ? '' : 's'}, and not ${length}`
  return count === undefined || lines === count
    ? undefined
    : `has ${lines} line${lines === 1 ? '' : 's'}, and not ${count} as the manifest says`
}

/**
 * State of a download over its attempts. `onSize`: called with the size of the `.part` file. `isFarther`: whether the offset is beyond that
 * of every previous attempt.
 */
type Transfer = { readonly onSize: (bytes: number) => void; readonly isFarther: (bytes: number) => boolean }

/** Returns a function that takes a size and reports by how much it differs from the previous one. */
function createSizeReporter(onBytes: (bytes: number) => void): (size: number) => void {
  let reported = 0
  return (size) => {
    if (size !== reported) onBytes(size - reported)
    reported = size
  }
}

function rising(): (value: number) => boolean {
  let highest = 0
  return (value) => {
    const isHigher = value > highest
    highest = Math.max(highest, value)
    return isHigher
  }
}

/** Requests the missing part of the file. Returns a TransientFailure if another attempt may succeed. */
async function fetchRest(url: string, path: string, options: RequestOptions, transfer: Transfer): Promise<TransientFailure | undefined> {
  const { onSize } = transfer
  const { etag, length } = await readPartState(path)
  const received = await sizeOf(partFileOf(path))
  onSize(received)
  if (received > 0 && received === length) return undefined
  const isRest = received > 0 && etag !== undefined
  const range = isRest ? { range: `bytes=${received}-`, 'if-range': etag } : {}
  const response = await sendOnce(url, { headers: { 'accept-encoding': 'identity', ...range } }, options)
  if (response.status === 429 || response.status >= 500) return new TransientFailure(`answers ${response.status}`, response.headers)
  const goesOn = isRest && response.status === 206 && startOf(response.headers) === received && isSame(response.headers, etag)
  // The server cannot continue at this offset. Discard the part, so that the next attempt requests the complete file.
  if (isRest && !goesOn && response.status !== 200) return restart(path, onSize, response)
  if (!goesOn && response.status !== 200)
    throw new ExportFault(
      'refused',
      `${withoutQuery(url)} answers ${response.status}${outcomeSuffixOf(await readBoundedText(response, url))}`,
    )
  if (!goesOn) {
    await rm(partFileOf(path), { force: true })
    onSize(0)
    await replaceDurably(partStateFileOf(path), (file) => file.writeFile(JSON.stringify(wholeIn(response.headers))))
  }
  return writePart(response, { ...transfer, part: partFileOf(path), from: goesOn ? received : 0, signal: options.signal })
}

async function restart(path: string, onSize: Transfer['onSize'], response: Response): Promise<TransientFailure> {
  await response.body?.cancel()
  await rm(partFileOf(path), { force: true })
  onSize(0)
  return new TransientFailure(`answers ${response.status}`)
}

/** Destination of a response body. `from`: bytes that the `.part` file already holds. */
type Target = Transfer & { readonly part: string; readonly from: number; readonly signal: AbortSignal }

async function writePart(response: Response, { part, from, signal, onSize, isFarther }: Target): Promise<TransientFailure | undefined> {
  let count = 0
  async function* counted(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      yield chunk
      count += chunk.length
      onSize(from + count)
    }
  }
  const body = response.body === null ? Readable.from([]) : Readable.fromWeb(response.body as ReadableStream)
  const to = createWriteStream(part, { flags: from > 0 ? 'a' : 'w', mode: 0o600, flush: true })
  try {
    await pipeline(body, counted, to)
    return undefined
  } catch (error) {
    const { syscall = '', code } = error as NodeJS.ErrnoException
    // A retry does not fix a disk error.
    if (DISK_CALLS.includes(syscall)) throw new ExportFault('mismatch', `${part} cannot be written (${code})`, { cause: error })
    signal.throwIfAborted()
    return new TransientFailure('breaks off', undefined, isFarther(from + count))
  }
}

const DISK_CALLS: readonly string[] = ['write', 'open', 'fsync']

/**
 * Returns ETag and length of the complete file. An encoded response gets neither: its length differs, and it cannot be continued. A weak
 * ETag is left out, because a range request cannot use it.
 */
function wholeIn(headers: Headers): Whole {
  if (!['', 'identity'].includes(headers.get('content-encoding') ?? '')) return {}
  const etag = headers.get('etag')
  const length = headers.get('content-length')
  return { ...(etag === null || etag.startsWith('W/') ? {} : { etag }), ...(length === null ? {} : { length: Number(length) }) }
}

const startOf = (headers: Headers): number => Number(/^bytes (\d+)-/.exec(headers.get('content-range') ?? '')?.[1] ?? Number.NaN)

const isSame = (headers: Headers, etag: string): boolean => (headers.get('etag') ?? etag) === etag

async function readPartState(path: string): Promise<Whole> {
  try {
    return JSON.parse(await readFile(partStateFileOf(path), 'utf8')) as Whole
  } catch (error) {
    if (isMissing(error)) return {}
    throw error
  }
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (isMissing(error)) return 0
    throw error
  }
}

const NEWLINE = 0x0a

/** Counts the bytes and lines on the disk, because a write may have been lost. */
async function measure(path: string): Promise<DownloadResult> {
  let bytes = 0
  let lines = 0
  let last = NEWLINE
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    bytes += chunk.length
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, at + 1)) {
      if ((at === 0 ? last : chunk[at - 1]) !== NEWLINE) lines++
    }
    last = chunk.at(-1)!
  }
  return { bytes, lines: last === NEWLINE ? lines : lines + 1 }
}
