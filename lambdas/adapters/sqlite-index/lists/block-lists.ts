/**
 * Cache of block lists in bounded memory: the boundaries of each block, and decoded entries. Recently used lists stay. Writers report every
 * block that they write or remove, so the cache equals the disk.
 */
import { type DocSet, firstOf, isList, lastOf, lowerBoundIndex } from './document-sets.ts'

/** Block with `n` entries of the documents from `first` to `last`. `entries`: undefined until they are decoded. */
export type Block<Entries> = { readonly first: number; readonly last: number; readonly n: number; entries: Entries | undefined }

/** Blocks in ascending order. `n`: entries of all blocks. */
export type BlockList<B extends Block<unknown>> = { readonly blocks: B[]; n: number; bytes: number }

/** Approximate bytes of a list, and of a block without its entries. */
const LIST = 300
const BLOCK = 200

export class BlockLists<Key, B extends Block<unknown>> {
  readonly #half: number
  readonly #bytesOf: (entries: B['entries']) => number
  /** Two generations, each limited to half of the memory. A full young generation replaces the old one. */
  #young = new Map<Key, BlockList<B>>()
  #old = new Map<Key, BlockList<B>>()
  /** Bytes of the young generation. */
  #bytes = 0

  /** `most`: maximum bytes of all lists. `bytesOf`: bytes of the decoded entries of a block. */
  constructor(most: number, bytesOf: (entries: B['entries']) => number) {
    this.#half = most / 2
    this.#bytesOf = bytesOf
  }

  get isEmpty(): boolean {
    return this.#young.size === 0 && this.#old.size === 0
  }

  has(key: Key): boolean {
    return this.#known(key) !== undefined
  }

  /** Returns a cached list and marks it as recently used. */
  get(key: Key): BlockList<B> | undefined {
    const list = this.#known(key)
    if (list !== undefined) this.#use(key, list)
    return list
  }

  /** Adds a list with all its blocks, decoded or not. */
  add(key: Key, blocks: B[]): BlockList<B> {
    const list: BlockList<B> = { blocks, n: 0, bytes: LIST }
    for (const block of blocks) this.#count(key, list, block, 1)
    if (list.bytes <= this.#half) this.#use(key, list)
    return list
  }

  /** Caches the entries of a block, unless the list would become too large. */
  keep(key: Key, list: BlockList<B>, block: B, entries: B['entries']): void {
    const bytes = this.#bytesOf(entries)
    if (list.bytes + bytes > this.#half) return
    block.entries = entries
    this.#grow(key, list, bytes)
    this.#use(key, list)
  }

  /** Records a written block. It may replace the block with the same first document. */
  put(key: Key, block: B): void {
    const list = this.#known(key)
    if (list === undefined) return
    this.drop(key, block.first)
    list.blocks.splice(blockFrom(list.blocks, block.first, 0), 0, block)
    this.#count(key, list, block, 1)
  }

  /** Records that the block with this first document was removed. */
  drop(key: Key, first: number): void {
    const list = this.#known(key)
    if (list === undefined) return
    const at = blockFrom(list.blocks, first, 0)
    if (list.blocks[at]?.first === first) this.#count(key, list, list.blocks.splice(at, 1)[0]!, -1)
  }

  forget(key: Key): void {
    const young = this.#young.get(key)
    if (young !== undefined) this.#bytes -= young.bytes
    this.#young.delete(key)
    this.#old.delete(key)
  }

  clear(): void {
    this.#young.clear()
    this.#old.clear()
    this.#bytes = 0
  }

  #known(key: Key): BlockList<B> | undefined {
    return this.#young.get(key) ?? this.#old.get(key)
  }

  #count(key: Key, list: BlockList<B>, { n, entries }: B, sign: 1 | -1): void {
    list.n += sign * n
    this.#grow(key, list, sign * (BLOCK + this.#bytesOf(entries)))
  }

  #grow(key: Key, list: BlockList<B>, bytes: number): void {
    list.bytes += bytes
    if (this.#young.get(key) === list) this.#bytes += bytes
  }

  #use(key: Key, list: BlockList<B>): void {
    if (this.#young.get(key) !== list) {
      this.#old.delete(key)
      this.#young.set(key, list)
      this.#bytes += list.bytes
    }
    if (this.#bytes <= this.#half) return
    this.#young.delete(key)
    this.#old = this.#young
    this.#young = new Map([[key, list]])
    this.#bytes = list.bytes
  }
}

/** Returns at least the blocks that may have some of the documents. `docs` undefined: all blocks. */
export function blocksAmong<B extends Block<unknown>>({ blocks }: BlockList<B>, docs: DocSet | undefined): readonly B[] {
  if (docs === undefined) return blocks
  if (!isList(docs)) return blocks.slice(blockFrom(blocks, firstOf(docs), 0), blockFrom(blocks, lastOf(docs), 0) + 1)
  const found: B[] = []
  for (let i = 0, at = 0; at < docs.length; i++) {
    i = blockFrom(blocks, docs[at]!, i)
    const block = blocks[i]
    if (block === undefined) break
    at = lowerBoundIndex(docs, block.first, at)
    if (at < docs.length && docs[at]! <= block.last) found.push(block)
    at = lowerBoundIndex(docs, block.last + 1, at)
  }
  return found
}

/** Returns the index of the first block, at or after `from`, that ends at or after the document. */
function blockFrom(blocks: readonly Block<unknown>[], doc: number, from: number): number {
  let [low, high] = [from, blocks.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (blocks[middle]!.last < doc) low = middle + 1
    else high = middle
  }
  return low
}
