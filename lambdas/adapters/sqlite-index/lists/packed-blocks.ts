/** Blocks of the document lists of terms, as stored on disk. */
import { type DocList, type DocSet, docListOf, isList } from './document-sets.ts'
import { packNumbers, unpackNumbers } from './packing.ts'

/** Maximum documents per block. */
export const BLOCK_SIZE = 1_000

/** `docs`: null if `first` is the only document. */
export type PackedBlock = [first: number, last: number, n: number, docs: Uint8Array | null]

export function packBlock(docs: ArrayLike<number>, start: number, end: number): PackedBlock {
  const first = docs[start]!
  return [first, docs[end - 1]!, end - start, end - start === 1 ? null : packNumbers(docs, start + 1, end, first)]
}

/** Returns the documents of blocks of several terms. A document may be in several blocks. */
export function docsOfBlocks(blocks: readonly PackedBlock[]): DocList {
  const docs = new Uint32Array(blocks.reduce((sum, [, , n]) => sum + n, 0))
  let at = 0
  for (const block of blocks) at = unpackBlock(block, docs, at)
  return docListOf(docs)
}

export function docsOfBlock(block: PackedBlock): DocList {
  const docs = new Uint32Array(block[2])
  unpackBlock(block, docs, 0)
  return docs
}

/** Writes the documents of a block into `into` at `at`. Returns the index after them. */
export function unpackBlock([first, , , others]: PackedBlock, into: Uint32Array, at: number): number {
  into[at] = first
  return others === null ? at + 1 : unpackNumbers(others, first, into, at + 1)
}

/** Returns the approximate bytes of decoded documents, including object overhead. */
export const bytesOf = (docs: DocSet | undefined): number =>
  docs === undefined ? 0 : 200 + 4 * (isList(docs) ? docs.length : docs.words.length)
