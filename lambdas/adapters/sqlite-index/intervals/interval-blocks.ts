/**
 * Blocks of intervals on disk. Each row has the lowest and the highest bound of its block, so that searches skip blocks. Recently read
 * blocks stay decoded in memory.
 */
import type { DatabaseSync } from 'node:sqlite'
import { type Block, type BlockList, BlockLists, blocksAmong, isLargePart } from '../lists/block-lists.ts'
import { DOC_NUMBER_END, type DocSet, firstOf, lastOf, union } from '../lists/document-sets.ts'
import { packNumbers, unpackNumbers } from '../lists/packing.ts'
import { BUDGET_CONDITION, type SearchBudget } from '../reading/budget.ts'
import { Statements } from '../statements.ts'
import {
  findPassingDocs,
  highestOf,
  INTERVAL_BYTES,
  type IntervalEntries,
  lowestOf,
  type SummarizedEntries,
  summarizeEntries,
} from './interval-scan.ts'
import { extremesOf, type IntervalTest } from './interval-test.ts'
import { type FieldRanks, RankedFields } from './ranked-fields.ts'

/** Approximate maximum bytes of all cached block lists. Above it, lists that were not used recently are dropped. */
const MOST_KEPT = 18_000_000

type IntervalBlock = Block<SummarizedEntries> & { readonly lowest: number; readonly highest: number }
/**
 * Row of a block. `n`: number of intervals. `docs`: packed document numbers (packing.ts). `bounds`: all lower bounds, then all upper
 * bounds, as doubles of 8 bytes.
 */
type BlockRow = [first: number, n: number, docs: Uint8Array, bounds: Uint8Array, field: number]

export class IntervalBlocks {
  readonly #lists = new BlockLists<number, IntervalBlock>(MOST_KEPT, bytesOf)
  readonly #ranks = new RankedFields()
  readonly #budget: SearchBudget
  readonly #statements

  constructor(db: DatabaseSync, budget: SearchBudget) {
    this.#budget = budget
    const statements = new Statements(db)
    const rows = 'SELECT first, n, docs, bounds, field FROM span WHERE field'
    this.#statements = {
      put: db.prepare('INSERT OR REPLACE INTO span VALUES (?, ?, ?, ?, ?, ?, ?, ?)'),
      drop: db.prepare('DELETE FROM span WHERE field = ? AND first = ?'),
      holding: statements.lists(`${rows} = ? AND first <= ? ORDER BY first DESC LIMIT 1`),
      blocks: statements.lists('SELECT first, last, n, lowest, highest FROM span WHERE field = ? ORDER BY first'),
      block: statements.lists(`${rows} = ? AND first = ?`),
      all: statements.lists(`${rows} = ? ORDER BY first`),
      any: statements.lists('SELECT 1 FROM span WHERE field = ? LIMIT 1'),
      ofMany: statements.lists(
        `${rows} IN (SELECT value FROM json_each(?)) AND ${BUDGET_CONDITION.text} AND lowest <= ? AND highest >= ? AND first <= ? AND last >= ?`,
      ),
    }
  }

  /** Returns an upper bound for the number of intervals that pass the test: all intervals of each block that may contain a passing one. */
  estimate(field: number, test: IntervalTest): number {
    const ranks = this.#ranks.unchanged(field)
    if (ranks !== undefined && test.width === 1) return ranks.estimate(test)
    return this.#listOf(field)
      .blocks.filter(touching(test))
      .reduce((sum, { n }) => sum + n, 0)
  }

  /** Returns all documents of `docs` with a passing interval of the field, and possibly others. `docs` undefined: any document. */
  find(field: number, test: IntervalTest, docs: DocSet | undefined): DocSet {
    const list = this.#listOf(field)
    const blocks = blocksAmong(list, docs)
    const ranks = isLargePart(list, blocks) && test.width === 1 ? this.#ranksOf(field, list) : undefined
    const left = ranks === undefined ? blocks : ranks.isChanged ? blocks.filter(({ first }) => ranks.lacks(first)) : []
    const entries = left.filter(touching(test)).map((block) => this.#entriesOf(field, list, block))
    return union([...(ranks === undefined ? [] : [ranks.passing(test)]), findPassingDocs(entries, test)])
  }

  /**
   * Yields the blocks of many fields that may contain a passing interval of one of the documents, without the cache, so that such a search does
   * not displace the cached blocks. A block may occur several times.
   */
  *amongMany(
    fields: readonly number[],
    { anyOf }: IntervalTest,
    docs: DocSet | undefined,
  ): Generator<readonly [field: number, IntervalEntries]> {
    const [from, to] = docs === undefined ? [0, DOC_NUMBER_END] : [firstOf(docs), lastOf(docs)]
    for (const { least, most } of anyOf.map(extremesOf)) {
      const rows = this.#statements.ofMany.all(`[${fields.join(',')}]`, most, least, to, from) as unknown as readonly BlockRow[]
      for (const row of rows) yield [row[4], decoded(row)]
    }
  }

  isEmpty(field: number): boolean {
    return this.#statements.any.get(field) === undefined
  }

  /**
   * Returns the last block whose first document number is at most `doc`. The document is in it or belongs into it. undefined: there is no
   * such block.
   */
  holding(field: number, doc: number): { readonly first: number; readonly entries: IntervalEntries } | undefined {
    const row = this.#statements.holding.get(field, doc) as unknown as BlockRow | undefined
    return row === undefined ? undefined : { first: row[0], entries: decoded(row) }
  }

  put(field: number, entries: IntervalEntries): void {
    const { docs, lows, highs } = entries
    const n = docs.length
    const bounds = new Float64Array(2 * n)
    bounds.set(lows)
    bounds.set(highs, n)
    const [first, last] = [docs[0]!, docs[n - 1]!]
    const [lowest, highest] = [lowestOf(lows), highestOf(highs)]
    this.#statements.put.run(field, first, last, n, lowest, highest, packNumbers(docs, 0, n, first), new Uint8Array(bounds.buffer))
    this.#lists.put(field, { first, last, n, lowest, highest, entries: undefined })
    this.#ranks.onChange(field, first)
  }

  drop(field: number, first: number): void {
    this.#statements.drop.run(field, first)
    this.#lists.drop(field, first)
    this.#ranks.onChange(field, first)
  }

  /** Clears the cache. The blocks on disk remain. */
  clear(): void {
    this.#lists.clear()
    this.#ranks.clear()
  }

  #listOf(field: number): BlockList<IntervalBlock> {
    const known = this.#lists.get(field)
    if (known !== undefined) return known
    const rows = this.#statements.blocks.all(field) as unknown as readonly (readonly [number, number, number, number, number])[]
    return this.#lists.add(
      field,
      rows.map(([first, last, n, lowest, highest]) => ({ first, last, n, lowest, highest, entries: undefined })),
    )
  }

  #ranksOf(field: number, { blocks, n }: BlockList<IntervalBlock>): FieldRanks | undefined {
    return this.#ranks.of(field, {
      ...{ first: blocks[0]!.first, last: blocks.at(-1)!.last, n },
      read: () => {
        const read: IntervalEntries[] = []
        for (const row of this.#statements.all.iterate(field)) {
          this.#budget.tick()
          read.push(decoded(row as unknown as BlockRow))
        }
        return read
      },
    })
  }

  #entriesOf(field: number, list: BlockList<IntervalBlock>, block: IntervalBlock): SummarizedEntries {
    this.#budget.tick()
    if (block.entries !== undefined) return block.entries
    const entries = summarizeEntries(decoded(this.#statements.block.get(field, block.first) as unknown as BlockRow))
    this.#lists.keep(field, list, block, entries)
    return entries
  }
}

/** Returns a check of the lowest and highest bound of a block. It returns false only if no interval of the block passes. */
function touching({ anyOf }: IntervalTest): (block: IntervalBlock) => boolean {
  const extremes = anyOf.map(extremesOf)
  return ({ lowest, highest }) => extremes.some(({ least, most }) => lowest <= most && highest >= least)
}

/** Returns the approximate bytes of a decoded block, including the overhead of its objects; 0 if it is not decoded. */
const bytesOf = (block: SummarizedEntries | undefined): number =>
  block === undefined ? 0 : 400 + INTERVAL_BYTES * block.entries.docs.length

function decoded([first, n, packedDocs, bytes]: BlockRow): IntervalEntries {
  const docs = new Uint32Array(n)
  unpackNumbers(packedDocs, first, docs, 0)
  const { buffer, byteOffset } = bytes
  return { docs, lows: new Float64Array(buffer, byteOffset, n), highs: new Float64Array(buffer, byteOffset + 8 * n, n) }
}
