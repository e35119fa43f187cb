/**
 * The intervals of each field, documents in ascending order: on disk in blocks with their lowest and highest bounds, in memory those that came
 * since the last commit. All intervals of a document in a field are in one place.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Budget } from './budget.ts'
import { type Docs, docsOf } from './docs.ts'
import type { IntervalTest } from './interval-test.ts'
import { packed, unpack } from './packing.ts'
import { Statements } from './statements.ts'

export type Interval = readonly [low: number, high: number]

/** Intervals of a block. */
const BLOCK = 512

/** `bounds`: all lower ones, then all upper ones, each 8 bytes. */
type Block = [first: number, n: number, docs: Uint8Array, bounds: Uint8Array]
/** In the order in which they came. `touched`: documents whose intervals on disk, if any, count no more. */
type Pending = { readonly docs: number[]; readonly lows: number[]; readonly highs: number[]; readonly touched: Set<number> }
type Entries = { readonly docs: Uint32Array; readonly lows: Float64Array; readonly highs: Float64Array }

export class Intervals {
  readonly #budget: Budget
  readonly #statements
  readonly #pending = new Map<number, Pending>()

  constructor(db: DatabaseSync, budget: Budget) {
    this.#budget = budget
    const statements = new Statements(db)
    const touched = 'WHERE field = ? AND first <= ? AND last >= ? AND lowest <= ? AND highest >= ?'
    this.#statements = {
      put: db.prepare('INSERT OR REPLACE INTO span VALUES (?, ?, ?, ?, ?, ?, ?, ?)'),
      drop: db.prepare('DELETE FROM span WHERE field = ? AND first = ?'),
      holding: statements.lists('SELECT first, n, docs, bounds FROM span WHERE field = ? AND first <= ? ORDER BY first DESC LIMIT 1'),
      touched: statements.lists(`SELECT first, n, docs, bounds FROM span ${touched}`),
      estimate: statements.lists(`SELECT total(n) FROM span ${touched}`),
    }
  }

  /** Those of a document that has none in the field. */
  add(field: number, doc: number, intervals: readonly Interval[]): void {
    const pending = this.#pendingOf(field)
    pending.touched.add(doc)
    for (const [low, high] of intervals) {
      pending.docs.push(doc)
      pending.lows.push(low)
      pending.highs.push(high)
    }
  }

  /** Takes out all intervals of a document. */
  remove(field: number, doc: number): void {
    const pending = this.#pendingOf(field)
    if (pending.touched.has(doc)) removePending(pending, doc)
    else pending.touched.add(doc)
  }

  /** Forgets what is not written. */
  clear(): void {
    this.#pending.clear()
  }

  /** Writes what is in memory, a field between two steps. */
  *writing(): Generator<undefined, undefined> {
    for (const [field, pending] of this.#pending) {
      this.#write(field, pending)
      this.#pending.delete(field)
      yield
    }
  }

  /** The documents from one number to another that have an interval in the field that passes. */
  read(field: number, { lowest, highest, passes }: IntervalTest, from: number, to: number): Docs {
    const blocks = this.#statements.touched.all(field, to, from, highest, lowest) as unknown as readonly Block[]
    const pending = this.#pending.get(field) ?? NOTHING
    const found = new Uint32Array(blocks.reduce((sum, [, n]) => sum + n, pending.docs.length))
    let n = 0
    const { touched } = pending
    const isAnyTouched = touched.size > 0
    for (const block of blocks) {
      this.#budget.tick()
      const { docs, lows, highs } = entriesOf(block)
      for (let i = 0; i < docs.length; i++)
        if (passes(lows[i]!, highs[i]!) && !(isAnyTouched && touched.has(docs[i]!))) found[n++] = docs[i]!
    }
    for (let i = 0; i < pending.docs.length; i++) if (passes(pending.lows[i]!, pending.highs[i]!)) found[n++] = pending.docs[i]!
    return docsOf(found.subarray(0, n))
  }

  /** At most so many documents pass. */
  estimate(field: number, { lowest, highest }: IntervalTest): number {
    const [n] = this.#statements.estimate.get(field, ALL, 0, highest, lowest) as unknown as [number]
    return n + (this.#pending.get(field)?.docs.length ?? 0)
  }

  #pendingOf(field: number): Pending {
    let pending = this.#pending.get(field)
    if (pending === undefined) {
      pending = { docs: [], lows: [], highs: [], touched: new Set() }
      this.#pending.set(field, pending)
    }
    return pending
  }

  /** Each document goes to the block it lies in, or to the one before it. */
  #write(field: number, pending: Pending): void {
    const added = inOrder(pending)
    const touched = Uint32Array.from(pending.touched).sort()
    for (let [left, end] = [touched.length, added.docs.length]; left > 0; ) {
      const block = this.#statements.holding.get(field, touched[left - 1]!) as unknown as Block | undefined
      const first = block === undefined ? 0 : block[0]
      let start = end
      while (left > 0 && touched[left - 1]! >= first) left--
      while (start > 0 && added.docs[start - 1]! >= first) start--
      const now = merged(block === undefined ? NO_ENTRIES : without(entriesOf(block), pending.touched), slice(added, start, end))
      if (block !== undefined && now.docs[0] !== first) this.#statements.drop.run(field, first)
      this.#put(field, now)
      end = start
    }
  }

  #put(field: number, { docs, lows, highs }: Entries): void {
    for (let start = 0; start < docs.length; ) {
      let end = Math.min(start + BLOCK, docs.length)
      while (end < docs.length && docs[end] === docs[end - 1]) end++
      const [low, high] = [lows.subarray(start, end), highs.subarray(start, end)]
      const bounds = new Float64Array(2 * (end - start))
      bounds.set(low)
      bounds.set(high, end - start)
      const first = docs[start]!
      this.#statements.put.run(
        field,
        first,
        docs[end - 1]!,
        end - start,
        low.reduce((a, b) => Math.min(a, b)),
        high.reduce((a, b) => Math.max(a, b)),
        packed(docs, start, end, first),
        new Uint8Array(bounds.buffer),
      )
      start = end
    }
  }
}

/** Above every document. */
const ALL = 2 ** 32

const NOTHING: Pending = { docs: [], lows: [], highs: [], touched: new Set() }

const NO_ENTRIES: Entries = { docs: new Uint32Array(0), lows: new Float64Array(0), highs: new Float64Array(0) }

function entriesOf([first, n, packedDocs, bytes]: Block): Entries {
  const docs = new Uint32Array(n)
  unpack(packedDocs, first, docs, 0)
  const { buffer, byteOffset } = bytes
  return { docs, lows: new Float64Array(buffer, byteOffset, n), highs: new Float64Array(buffer, byteOffset + 8 * n, n) }
}

const slice = ({ docs, lows, highs }: Entries, start: number, end: number): Entries => ({
  docs: docs.subarray(start, end),
  lows: lows.subarray(start, end),
  highs: highs.subarray(start, end),
})

function without({ docs, lows, highs }: Entries, gone: ReadonlySet<number>): Entries {
  const isLeft = (_: number, i: number): boolean => !gone.has(docs[i]!)
  return docs.some((doc) => gone.has(doc))
    ? { docs: docs.filter(isLeft), lows: lows.filter(isLeft), highs: highs.filter(isLeft) }
    : { docs, lows, highs }
}

/** Documents are in one of the two. */
function merged(a: Entries, b: Entries): Entries {
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

function inOrder({ docs, lows, highs }: Pending): Entries {
  const order = Uint32Array.from(docs.keys())
  if (docs.some((doc, i) => i > 0 && docs[i - 1]! > doc)) order.sort((a, b) => docs[a]! - docs[b]!)
  return {
    docs: Uint32Array.from(order, (at) => docs[at]!),
    lows: Float64Array.from(order, (at) => lows[at]!),
    highs: Float64Array.from(order, (at) => highs[at]!),
  }
}
