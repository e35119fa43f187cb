/** Finds the files of a load and reads their texts: Bundles, single resources and NDJSON, each also as .gz. */
import { createReadStream, type Dirent, readdirSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { createGunzip, gunzipSync } from 'node:zlib'
import type { ReusedBuffer } from './reused-buffer.ts'

/** A file to load. `exported`: transaction time of its export, in milliseconds since 1970. */
export type SourceFile = { readonly file: string; readonly size: number; readonly exported?: number }

const LOADABLE = /\.(?:json|ndjson|jsonl)(?:\.gz)?$/i
const LINES = /\.(?:ndjson|jsonl)(?:\.gz)?$/i
const ZIPPED = /\.gz$/i
const ARCHIVE = /\.(?:tgz|tar|tar\.gz|zip)$/i

/**
 * Returns the named files, and all loadable files below named folders in the order of their names. Throws if a path is missing or an
 * archive.
 */
export function findSourceFiles(paths: readonly string[]): readonly SourceFile[] {
  return paths.flatMap((path) => {
    const stats = statSync(path, { throwIfNoEntry: false })
    if (stats === undefined) throw new Error(`${path} does not exist`)
    if (!stats.isDirectory()) return [fileOf(path, stats.size)]
    const inside = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory() || LOADABLE.test(entry.name))
    return findSourceFiles(inside.map((entry: Dirent) => join(path, entry.name)).sort())
  })
}

function fileOf(file: string, size: number): SourceFile {
  if (ARCHIVE.test(file)) throw new Error(`${file} is an archive: unpack it; a package of definitions is for package add`)
  return { file, size }
}

/** A text of a file. `place`: the file, and the line in NDJSON. `copy`: buffer as long as the bytes, for files that are read as a whole. */
export type SourceText = { readonly bytes: Buffer; readonly copy?: Buffer; readonly place: string }

/** Buffers for the bytes of a file and for their copy. The next file overwrites them. */
export type ReusedBuffers = { readonly bytes: ReusedBuffer; readonly copy: ReusedBuffer }

/** Yields the texts of a file. An NDJSON file is never in memory as a whole. */
export async function* readTexts({ file }: SourceFile, memories: ReusedBuffers): AsyncGenerator<SourceText> {
  if (!LINES.test(file)) {
    const read = await bytesOf(file, memories.bytes)
    const bytes = ZIPPED.test(file) ? gunzipSync(read) : read
    yield { bytes, copy: memories.copy.take(bytes.length), place: file }
    return
  }
  const stream = createReadStream(file)
  let number = 0
  for await (const bytes of linesOf(ZIPPED.test(file) ? pipeline(stream, createGunzip(), () => undefined) : stream)) {
    number++
    if (!isBlank(bytes)) yield { bytes, place: `${file}:${number}` }
  }
}

/** Bytes that a file may grow by during the read, before the buffer is enlarged. */
const MORE = 65_536

async function bytesOf(path: string, memory: ReusedBuffer): Promise<Buffer> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    for (let length = 0; ; ) {
      const bytes = memory.take(Math.max(size, length) + MORE, length)
      const { bytesRead } = await file.read(bytes, length)
      if (bytesRead === 0) return bytes.subarray(0, length)
      length += bytesRead
    }
  } finally {
    await file.close()
  }
}

const LINE_FEED = 10

/** Yields the lines. A line may span several chunks. */
async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let before: Buffer[] = []
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      const line = chunk.subarray(start, end)
      yield before.length === 0 ? line : Buffer.concat([...before, line])
      before = []
      start = end + 1
    }
    before.push(chunk.subarray(start))
  }
  yield Buffer.concat(before)
}

const isBlank = (bytes: Buffer): boolean => bytes.every((c) => c <= 32)
