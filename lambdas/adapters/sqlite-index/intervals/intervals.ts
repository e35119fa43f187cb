/**
 * Intervals of each field, by ascending document number. Added intervals are in memory until `writing` stores them in blocks on disk
 * (interval-blocks.ts). All intervals of a document in a field are in the same block. A negative field number stands for a tuple list
 * (tuple-lists.ts).
 */
import type { DatabaseSync } from 'node:sqlite'
import { DOC_NUMBER_END, type DocSet, difference, docListOf, lastOf, union } from '../lists/document-sets.ts'
import type { SearchBudget } from '../reading/budget.ts'
import { IntervalBlocks } from './interval-blocks.ts'
import { filterDocs, type IntervalEntries } from './interval-scan.ts'
import type { IntervalTest } from './interval-test.ts'

export type Interval = readonly [low: number, high: number]

/** Intervals per block. A block has more only if they belong to its last document. */
const BLOCK = 512
/**
 * Number of changed documents after which `writing` yields, usually a few milliseconds. A field is written as a whole, so a step may take
 * longer.
 */
const STEP = 250
/**
 * Maximum fields of a search that are read one by one through the cache. For more fields, one statement reads the blocks, and `estimate`
 * returns Infinity.
 */
const MOST_SINGLE = 100

/**
 * Unwritten changes of a field. `docs`, `lows` and `highs`: added intervals in order of arrival. `touched`: all changed documents, whose
 * intervals on disk are no longer valid. It is undefined until the first removal, because added documents have no intervals on disk.
 * `least`: lowest number of a changed document.
 */
type Pending = {
  readonly docs: number[]
  readonly lows: number[]
  readonly highs: number[]
  touched: Set<number> | undefined
  least: number
}

export class Intervals {
  readonly #blocks: IntervalBlocks
  readonly #onEmpty: (field: number) => void
  readonly #pending = new Map<number, Pending>()

  /** `onEmpty`: called after the last interval of a field was removed from disk. */
  constructor(db: DatabaseSync, budget: SearchBudget, onEmpty: (field: number) => void = () => undefined) {
    this.#blocks = new IntervalBlocks(db, budget)
    this.#onEmpty = onEmpty
  }

  /** Adds intervals of a document. Precondition: intervals of the document that are on disk in this field were removed with `remove`. */
  add(field: number, doc: number, intervals: readonly Interval[]): void {
    const pending = this.#pending.get(field)
    if (pending === undefined) return void this.#pending.set(field, begunWith(doc, intervals))
    touch(pending, doc)
    for (const [low, high] of intervals) {
      pending.docs.push(doc)
      pending.lows.push(low)
      pending.highs.push(high)
    }
  }

  /** Removes all intervals of a document from the field, in memory and, at the next write, on disk. */
  remove(field: number, doc: number): void {
    const pending = this.#pendingOf(field)
    pending.touched ??= new Set(pending.docs)
    if (pending.touched.has(doc)) removePending(pending, doc)
    else touch(pending, doc)
  }

  /** Discards unwritten changes and the cache. Must be called after a rollback, because cached blocks may have been rolled back. */
  clear(): void {
    this.#pending.clear()
    this.#blocks.clear()
  }

  /** Writes the changes in memory to disk, field by field. Yields after the field with which STEP changed documents are reached. */
  *writing(): Generator<undefined, undefined> {
    let docs = 0
    for (const [field, pending] of this.#pending) {
      this.#write(field, pending)
      this.#pending.delete(field)
      docs += pending.touched?.size ?? pending.docs.length
      if (docs < STEP) continue
      docs = 0
      yield
    }
  }

  /**
   * Returns all documents of `docs` with a passing interval or tuple in one of the fields, and possibly others. `docs` undefined: all
   * documents.
   */
  read(fields: readonly number[], test: IntervalTest, docs: DocSet | undefined): DocSet {
    const written =
      fields.length > MOST_SINGLE
        ? [...this.#blocks.amongMany(fields, test, docs)].map(([field, block]) => this.#untouched(field, filterDocs(block, test)))
        : fields.map((field) => this.#untouched(field, this.#blocks.find(field, test, docs)))
    const pending = fields.flatMap((field) => this.#pending.get(field) ?? []).map((each) => filterDocs(each, test))
    return union([...written, ...pending])
  }

  /** Returns an upper bound for the number of documents with a passing interval or tuple, or Infinity for more than MOST_SINGLE fields. */
  estimate(fields: readonly number[], test: IntervalTest): number {
    if (fields.length > MOST_SINGLE) return Number.POSITIVE_INFINITY
    return fields.reduce((sum, field) => sum + this.#blocks.estimate(field, test) + (this.#pending.get(field)?.docs.length ?? 0), 0)
  }

  /** Returns `docs` without the documents that have unwritten changes, because their intervals on disk are no longer valid. */
  #untouched(field: number, docs: DocSet): DocSet {
    const pending = this.#pending.get(field)
    if (pending?.touched === undefined || pending.least > lastOf(docs)) return docs
    return difference(docs, docListOf(Uint32Array.from(pending.touched)))
  }

  #pendingOf(field: number): Pending {
    let pending = this.#pending.get(field)
    if (pending === undefined) {
      pending = { docs: [], lows: [], highs: [], touched: undefined, least: DOC_NUMBER_END }
      this.#pending.set(field, pending)
    }
    return pending
  }

  /**
   * Writes the changes of a field, from the last block to the first. A document goes into the last block whose first document number is at
   * most its own. Documents before the first block form new blocks.
   */
  #write(field: number, pending: Pending): void {
    const added = inOrder(pending)
    const touched = pending.touched === undefined ? added.docs : Uint32Array.from(pending.touched).sort()
    for (let [left, end] = [touched.length, added.docs.length]; left > 0; ) {
      const block = this.#blocks.holding(field, touched[left - 1]!)
      const first = block === undefined ? 0 : block.first
      let start = end
      while (left > 0 && touched[left - 1]! >= first) left--
      while (start > 0 && added.docs[start - 1]! >= first) start--
      const now = merged(block === undefined ? NO_ENTRIES : without(block.entries, pending.touched), slice(added, start, end))
      if (block !== undefined && now.docs[0] !== first) this.#blocks.drop(field, first)
      this.#put(field, now)
      end = start
    }
    if (added.docs.length === 0 && this.#blocks.isEmpty(field)) this.#onEmpty(field)
  }

  #put(field: number, entries: IntervalEntries): void {
    const { docs } = entries
    for (let start = 0; start < docs.length; ) {
      let end = Math.min(start + BLOCK, docs.length)
      while (end < docs.length && docs[end] === docs[end - 1]) end++
      this.#blocks.put(field, slice(entries, start, end))
      start = end
    }
  }
}

/**
 * Creates the changes of a field from its first added document. The arrays have the exact size, because most tuple lists get no further
 * intervals.
 */
const begunWith = (doc: number, intervals: readonly Interval[]): Pending => ({
  docs: intervals.map(() => doc),
  lows: intervals.map(([low]) => low),
  highs: intervals.map(([, high]) => high),
  touched: undefined,
  least: doc,
})

const NO_ENTRIES: IntervalEntries = { docs: new Uint32Array(0), lows: new Float64Array(0), highs: new Float64Array(0) }

function touch(pending: Pending, doc: number): void {
  pending.touched?.add(doc)
  if (doc < pending.least) pending.least = doc
}

function slice(entries: IntervalEntries, start: number, end: number): IntervalEntries {
  const { docs, lows, highs } = entries
  if (start === 0 && end === docs.length) return entries
  return { docs: docs.subarray(start, end), lows: lows.subarray(start, end), highs: highs.subarray(start, end) }
}

function without(entries: IntervalEntries, gone: ReadonlySet<number> | undefined): IntervalEntries {
  const { docs, lows, highs } = entries
  if (gone === undefined || !docs.some((doc) => gone.has(doc))) return entries
  const isLeft = (_: number, i: number): boolean => !gone.has(docs[i]!)
  return { docs: docs.filter(isLeft), lows: lows.filter(isLeft), highs: highs.filter(isLeft) }
}

/** Merges two lists that are sorted by document number and have no document in common. */
function merged(a: IntervalEntries, b: IntervalEntries): IntervalEntries {
  if (a.docs.length === 0) return b
  const size = a.docs.length + b.docs.length
  const into = { docs: new Uint32Array(size), lows: new Float64Array(size), highs: new Float64Array(size) }
  for (let n = 0, i = 0, j = 0; n < size; n++) {
    const isFirst = j === b.docs.length || (i < a.docs.length && a.docs[i]! < b.docs[j]!)
    const [from, at] = isFirst ? [a, i++] : [b, j++]
    into.docs[n] = from.docs[at]!
    into.lows[n] = from.lows[at]!
    into.highs[n] = from.highs[at]!
  }
  return into
}

function removePending({ docs, lows, highs }: Pending, doc: number): void {
  const start = docs.indexOf(doc)
  if (start < 0) return
  const size = docs.lastIndexOf(doc) + 1 - start
  for (const column of [docs, lows, highs]) column.splice(start, size)
}

function inOrder({ docs, lows, highs }: Pending): IntervalEntries {
  if (docs.every((doc, i) => i === 0 || docs[i - 1]! <= doc))
    return { docs: new Uint32Array(docs), lows: new Float64Array(lows), highs: new Float64Array(highs) }
  const order = Uint32Array.from(docs.keys()).sort((a, b) => docs[a]! - docs[b]!)
  return {
    docs: Uint32Array.from(order, (at) => docs[at]!),
    lows: Float64Array.from(order, (at) => lows[at]!),
    highs: Float64Array.from(order, (at) => highs[at]!),
  }
}
