/**
 * Cache of block lists in bounded memory: the range of documents of each block, and decoded entries. Lists that were not used recently are
 * dropped. Writers must report every block that they write or remove, so that the cache equals the disk.
 */
import { type DocSet, firstOf, isList, lastOf, lowerBoundIndex } from './document-sets.ts'

/** Block with `n` entries of the documents from `first` to `last`. `entries`: undefined until they are decoded. */
export type Block<Entries> = { readonly first: number; readonly last: number; readonly n: number; entries: Entries | undefined }

/**
 * All blocks of one key in ascending order of documents. `n`: number of entries of all blocks. `bytes`: approximate size in memory. `joined`:
 * entries of all blocks together, until one of them changes.
 */
export type BlockList<B extends Block<unknown>> = { readonly blocks: B[]; n: number; bytes: number; joined?: B['entries'] }

/** Approximate bytes of a list without its blocks. */
const LIST = 300
/** Approximate bytes of a block without its entries. */
const BLOCK = 200

export class BlockLists<Key, B extends Block<unknown>> {
  readonly #half: number
  readonly #bytesOf: (entries: B['entries']) => number
  /** Recently used lists. When they exceed half of the memory, they become `#old`, and the previous `#old` lists are dropped. */
  #young = new Map<Key, BlockList<B>>()
  /** Lists that were not used since the last such change. A list that is used moves to `#young`. */
  #old = new Map<Key, BlockList<B>>()
  /** Approximate bytes of the lists in `#young`. */
  #bytes = 0

  /** `most`: approximate maximum bytes of all lists. `bytesOf`: returns the bytes of the decoded entries of a block. */
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

  /** Returns a list of all blocks of a key, decoded or not. Caches it unless it takes more than half of the memory. */
  add(key: Key, blocks: B[]): BlockList<B> {
    const list: BlockList<B> = { blocks, n: 0, bytes: LIST }
    for (const block of blocks) this.#count(key, list, block, 1)
    if (list.bytes <= this.#half) this.#use(key, list)
    return list
  }

  /** Caches the decoded entries of a block, unless the list would then take more than half of the memory. */
  keep(key: Key, list: BlockList<B>, block: B, entries: B['entries']): void {
    const bytes = this.#bytesOf(entries)
    if (list.bytes + bytes > this.#half) return
    block.entries = entries
    this.#grow(key, list, bytes)
    this.#use(key, list)
  }

  /** Caches the joined entries of all blocks, unless the list would then take more than half of the memory. */
  keepJoined(key: Key, list: BlockList<B>, joined: B['entries']): void {
    const bytes = this.#bytesOf(joined)
    if (list.bytes + bytes > this.#half) return
    list.joined = joined
    this.#grow(key, list, bytes)
    this.#use(key, list)
  }

  /** Adds a block that was written to disk to the cached list. Replaces the block with the same first document. */
  put(key: Key, block: B): void {
    const list = this.#known(key)
    if (list === undefined) return
    this.drop(key, block.first)
    this.#dropJoined(key, list)
    list.blocks.splice(blockFrom(list.blocks, block.first, 0), 0, block)
    this.#count(key, list, block, 1)
  }

  /** Removes the block with this first document from the cached list, because it was removed from disk. */
  drop(key: Key, first: number): void {
    const list = this.#known(key)
    if (list === undefined) return
    this.#dropJoined(key, list)
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

  #dropJoined(key: Key, list: BlockList<B>): void {
    this.#grow(key, list, -this.#bytesOf(list.joined))
    list.joined = undefined
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

/**
 * Returns the blocks whose range contains one of the documents. For documents as bits, returns all blocks from the first to the last
 * document. `docs` undefined: all blocks.
 */
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

/** Minimum blocks of a large part of a list, and their minimum share of all blocks. */
const MANY = 16
const LARGE_SHARE = 1 / 8

/** Whether a search of these blocks takes less time with data that is cached for all blocks of the list. */
export const isLargePart = <B extends Block<unknown>>({ blocks: all }: BlockList<B>, blocks: readonly B[]): boolean =>
  blocks.length >= Math.max(MANY, all.length * LARGE_SHARE)

/** Returns the index of the first block, at or after `from`, whose last document number is at least `doc`. */
function blockFrom(blocks: readonly Block<unknown>[], doc: number, from: number): number {
  let [low, high] = [from, blocks.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (blocks[middle]!.last < doc) low = middle + 1
    else high = middle
  }
  return low
}
