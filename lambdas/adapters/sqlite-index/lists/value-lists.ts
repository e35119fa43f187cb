/**
 * Finds the values that given documents have in a combination. A combination with few blocks stays in memory until one of its lists is
 * written.
 */
import type { DatabaseSync } from 'node:sqlite'
import { BUDGET_CONDITION, type SearchBudget } from '../reading/budget.ts'
import { Statements } from '../statements.ts'
import { type Block, type BlockList, BlockLists } from './block-lists.ts'
import { compact, type DocBits, type DocSet, hasDoc, intersects, toBits } from './document-sets.ts'
import { BLOCK_SIZE, bytesOf, docsOfBlock, type PackedBlock, unpackBlock } from './packed-blocks.ts'

/** Approximate maximum bytes of all cached combinations. Above it, combinations that were not used recently are dropped. */
const MOST_KEPT = 5_000_000
/** Maximum blocks of a cached combination. The blocks of a larger one are read from disk each time. */
const MOST_BLOCKS = 5_000
/** Number of blocks that are read from disk in the time of reading one forward entry. */
const READ = 4
/** Number of cached blocks that are tested in the time of reading one forward entry. */
const LOOKED_AT = 100

type ValueBlock = Block<DocSet> & { readonly value: string }
type ValueRow = [...PackedBlock, value: string]

export class ValueLists {
  readonly #lists = new BlockLists<number, ValueBlock>(MOST_KEPT, bytesOf)
  readonly #budget: SearchBudget
  readonly #count
  readonly #blocks

  constructor(db: DatabaseSync, budget: SearchBudget) {
    const statements = new Statements(db)
    this.#budget = budget
    this.#count = statements.lists('SELECT count(*) FROM (SELECT 1 FROM posting WHERE combination = ? LIMIT ?)')
    this.#blocks = statements.lists(`SELECT first, last, n, docs, value FROM posting WHERE combination = ? AND ${BUDGET_CONDITION.text}`)
  }

  /** Whether `among` costs less than reading the forward entries of `docs` documents. */
  isSmall(combinations: readonly number[], docs: number): boolean {
    let cost = 0
    for (const combination of combinations) {
      const known = this.#lists.get(combination)
      cost += known === undefined ? this.#sizeOf(combination, docs * READ) / READ : known.blocks.length / LOOKED_AT
    }
    return cost < docs
  }

  /** Yields the values that some of the documents have, each once per block with such a document. */
  *among(combinations: readonly number[], docs: DocSet): Generator<string> {
    const bits = toBits(docs)
    for (const combination of combinations) {
      const list = this.#lists.get(combination) ?? this.#read(combination)
      if (list === undefined) yield* this.#reading(combination, bits)
      else
        for (const { entries, value } of list.blocks) {
          this.#budget.tick()
          if (intersects(bits, entries!)) yield value
        }
    }
  }

  /** Removes the combination from the cache. Must be called before one of its lists is written. */
  forget(combination: number): void {
    if (!this.#lists.isEmpty) this.#lists.forget(combination)
  }

  clear(): void {
    this.#lists.clear()
  }

  #sizeOf(combination: number, most: number): number {
    const [n] = this.#count.get(combination, most) as unknown as [number]
    return n
  }

  /** Reads and caches all blocks of a combination. Returns undefined if it has more than MOST_BLOCKS. */
  #read(combination: number): BlockList<ValueBlock> | undefined {
    if (this.#sizeOf(combination, MOST_BLOCKS + 1) > MOST_BLOCKS) return undefined
    const rows = this.#blocks.all(combination) as unknown as readonly ValueRow[]
    return this.#lists.add(
      combination,
      rows.map(([first, last, n, docs, value]) => ({ first, last, n, value, entries: compact(docsOfBlock([first, last, n, docs])) })),
    )
  }

  *#reading(combination: number, bits: DocBits): Generator<string> {
    const members = new Uint32Array(BLOCK_SIZE)
    for (const row of this.#blocks.iterate(combination)) {
      const [first, last, n, docs, value] = row as unknown as ValueRow
      unpackBlock([first, last, n, docs], members, 0)
      if (members.subarray(0, n).some((doc) => hasDoc(bits, doc))) yield value
    }
  }
}
