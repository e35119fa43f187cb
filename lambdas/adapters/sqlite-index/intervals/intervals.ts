/**
 * Intervals of each field, by ascending document number. Those since the last commit are in memory, the others in blocks on disk
 * (interval-blocks.ts). All intervals of a document in a field are together. A negative field number stands for a tuple list.
 */
import type { DatabaseSync } from 'node:sqlite'
import { DOC_NUMBER_END, type DocSet, difference, docListOf, lastOf, union } from '../lists/document-sets.ts'
import type { SearchBudget } from '../reading/budget.ts'
import { IntervalBlocks } from './interval-blocks.ts'
import { filterDocs, findPassingDocs, type IntervalEntries } from './interval-scan.ts'
import type { IntervalTest } from './interval-test.ts'

export type Interval = readonly [low: number, high: number]

/** Intervals per block. */
const BLOCK = 512
/** Documents written per step, which takes a few milliseconds. */
const STEP = 250
/** Maximum fields of a search whose blocks are looked up and cached one by one. */
const MOST_SINGLE = 100

/**
 * Unwritten intervals in order of arrival. `touched`: documents whose intervals on disk are no longer valid. It is undefined until the
 * first removal, because new documents have none on disk. `least`: lowest document number.
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

  /** `onEmpty`: called when a field is written and has no intervals left. */
  constructor(db: DatabaseSync, budget: SearchBudget, onEmpty: (field: number) => void = () => undefined) {
    this.#blocks = new IntervalBlocks(db, budget)
    this.#onEmpty = onEmpty
  }

  /** Adds the intervals of a document that has none in the field. */
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

  /** Removes all intervals of a document from the field. */
  remove(field: number, doc: number): void {
    const pending = this.#pendingOf(field)
    pending.touched ??= new Set(pending.docs)
    if (pending.touched.has(doc)) removePending(pending, doc)
    else touch(pending, doc)
  }

  /** Discards unwritten intervals and the cache, which may contain blocks that were rolled back. */
  clear(): void {
    this.#pending.clear()
    this.#blocks.clear()
  }

  /** Writes the intervals in memory. Yields after the fields of about STEP documents. */
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

  /** Returns at least those of `docs` that have a passing entry in one of the fields. `docs` undefined: all documents. */
  read(fields: readonly number[], test: IntervalTest, docs: DocSet | undefined): DocSet {
    const written =
      fields.length > MOST_SINGLE
        ? [...this.#blocks.amongMany(fields, test, docs)].map(([field, block]) => this.#untouched(field, filterDocs(block, test)))
        : this.#blocks.among(fields, test, docs).map(([field, blocks]) => this.#untouched(field, findPassingDocs(blocks, test)))
    const pending = fields.flatMap((field) => this.#pending.get(field) ?? []).map((each) => filterDocs(each, test))
    return union([...written, ...pending])
  }

  /** Returns an upper bound for the number of documents with a passing entry, or Infinity if counting takes too long. */
  estimate(fields: readonly number[], test: IntervalTest): number {
    if (fields.length > MOST_SINGLE) return Number.POSITIVE_INFINITY
    return fields.reduce((sum, field) => sum + this.#blocks.estimate(field, test) + (this.#pending.get(field)?.docs.length ?? 0), 0)
  }

  /** Removes documents whose intervals on disk are no longer valid. */
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

  /** Adds each document to the block that contains its number, or to the block before it. */
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

/** Creates arrays of exact size, because most tuple lists get no further entries. */
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

/** Merges two sorted lists that have no document in common. */
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
