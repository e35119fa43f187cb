/** Blocks of the document lists of terms, in the format in which they are stored on disk. */
import { type DocList, type DocSet, docListOf, isList } from './document-sets.ts'
import { packNumbers, unpackNumbers } from './packing.ts'

/** Maximum documents per block. */
export const BLOCK_SIZE = 1_000

/** Block of `n` documents from `first` to `last`. `docs`: packed numbers of the documents after `first`; null if there are none. */
export type PackedBlock = [first: number, last: number, n: number, docs: Uint8Array | null]

export function packBlock(docs: ArrayLike<number>, start: number, end: number): PackedBlock {
  const first = docs[start]!
  return [first, docs[end - 1]!, end - start, end - start === 1 ? null : packNumbers(docs, start + 1, end, first)]
}

/** Returns the documents of all blocks, each once. The blocks may belong to several terms, so a document may be in several blocks. */
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

/** Writes the document numbers of a block into `into`, from the index `at` on. Returns the index after them. */
export function unpackBlock([first, , , others]: PackedBlock, into: Uint32Array, at: number): number {
  into[at] = first
  return others === null ? at + 1 : unpackNumbers(others, first, into, at + 1)
}

/** Returns the approximate bytes of decoded documents, including object overhead; 0 if they are not decoded. */
export const bytesOf = (docs: DocSet | undefined): number =>
  docs === undefined ? 0 : 200 + 4 * (isList(docs) ? docs.length : docs.words.length)
