/** Chunks of the lists of documents of terms, as they stand on disk. */
import { type DocSet, type Docs, docsOf, isList } from './docs.ts'
import { packed, unpack } from './packing.ts'

/** Documents of a chunk, at most. */
export const CHUNK = 1_000

/** Without `docs`: `first` alone. */
export type Chunk = [first: number, last: number, n: number, docs: Uint8Array | null]

export function packedChunk(docs: ArrayLike<number>, start: number, end: number): Chunk {
  const first = docs[start]!
  return [first, docs[end - 1]!, end - start, end - start === 1 ? null : packed(docs, start + 1, end, first)]
}

/** Of several terms, perhaps some in more than one of them. */
export function docsOfChunks(chunks: readonly Chunk[]): Docs {
  const docs = new Uint32Array(chunks.reduce((sum, [, , n]) => sum + n, 0))
  let at = 0
  for (const chunk of chunks) at = unpackChunk(chunk, docs, at)
  return docsOf(docs)
}

export function docsOfChunk(chunk: Chunk): Docs {
  const docs = new Uint32Array(chunk[2])
  unpackChunk(chunk, docs, 0)
  return docs
}

/** Puts its documents at a place of a list; the place after them. */
export function unpackChunk([first, , , others]: Chunk, into: Uint32Array, at: number): number {
  into[at] = first
  return others === null ? at + 1 : unpack(others, first, into, at + 1)
}

/** Of the documents of a chunk in memory, with their objects. */
export const bytesOf = (docs: DocSet | undefined): number =>
  docs === undefined ? 0 : 200 + 4 * (isList(docs) ? docs.length : docs.words.length)
