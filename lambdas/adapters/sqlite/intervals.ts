/**
 * The intervals of each field, documents in ascending order: on disk in blocks with their lowest and highest bounds, in memory those that came
 * since the last commit. All intervals of a document in a field are in one place. A field is a number: below zero it is a list of tuples.
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
/** Documents of fields that are written in a few milliseconds. */
const STEP = 250
/** Fields that are looked at to tell the number of documents. */
const MOST_ESTIMATED = 100

/** `bounds`: all lower ones, then all upper ones, each 8 bytes. */
type Block = [first: number, n: number, docs: Uint8Array, bounds: Uint8Array]
type FieldBlock = [...Block, field: number]
/** In the order in which they came. `touched`: documents whose intervals on disk, if any, count no more. */
type Pending = { readonly docs: number[]; readonly lows: number[]; readonly highs: number[]; readonly touched: Set<number> }
type Entries = { readonly docs: Uint32Array; readonly lows: Float64Array; readonly highs: Float64Array }

export class Intervals {
  readonly #budget: Budget
  readonly #onEmpty: (field: number) => void
  readonly #statements
  readonly #pending = new Map<number, Pending>()

  /** `onEmpty` is told of a field that is written and has no intervals. */
  constructor(db: DatabaseSync, budget: Budget, onEmpty: (field: number) => void = () => undefined) {
    this.#budget = budget
    this.#onEmpty = onEmpty
    const statements = new Statements(db)
    const touched = 'first <= ? AND last >= ? AND lowest <= ? AND highest >= ?'
    const blocks = 'SELECT first, n, docs, bounds, field FROM span'
    this.#statements = {
      put: db.prepare('INSERT OR REPLACE INTO span VALUES (?, ?, ?, ?, ?, ?, ?, ?)'),
      drop: db.prepare('DELETE FROM span WHERE field = ? AND first = ?'),
      holding: statements.lists('SELECT first, n, docs, bounds FROM span WHERE field = ? AND first <= ? ORDER BY first DESC LIMIT 1'),
      touched: statements.lists(`${blocks} WHERE field = ? AND ${touched}`),
      touchedOfMany: statements.lists(`${blocks} WHERE field IN (SELECT value FROM json_each(?)) AND ${touched}`),
      any: statements.lists('SELECT 1 FROM span WHERE field = ? LIMIT 1'),
      estimate: statements.lists(`SELECT total(n) FROM span WHERE field = ? AND ${touched}`),
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

  /** Writes what is in memory, fields of so many documents between two steps. */
  *writing(): Generator<undefined, undefined> {
    let docs = 0
    for (const [field, pending] of this.#pending) {
      this.#write(field, pending)
      this.#pending.delete(field)
      docs += pending.touched.size
      if (docs < STEP) continue
      docs = 0
      yield
    }
  }

  /** The documents from one number to another that have an entry in one of the fields that passes. */
  read(fields: readonly number[], test: IntervalTest, from: number, to: number): Docs {
    const { lowest, highest, width } = test
    const { touched, touchedOfMany } = this.#statements
    const rows =
      fields.length === 1
        ? touched.all(fields[0]!, to, from, highest, lowest)
        : touchedOfMany.all(`[${fields.join(',')}]`, to, from, highest, lowest)
    const blocks = rows as unknown as readonly FieldBlock[]
    const pending = fields.flatMap((field) => this.#pending.get(field) ?? [])
    const found = new Uint32Array(blocks.reduce((sum, [, n]) => sum + n, 0) + pending.reduce((sum, { docs }) => sum + docs.length, 0))
    let n = 0
    for (const block of blocks) {
      this.#budget.tick()
      const entries = entriesOf(block)
      const { docs } = entries
      const gone = this.#pending.get(block[4])?.touched
      for (let i = 0; i < docs.length; i += width)
        if (isPassing(entries, i, test) && (gone === undefined || !gone.has(docs[i]!))) found[n++] = docs[i]!
    }
    for (const entries of pending)
      for (let i = 0; i < entries.docs.length; i += width) if (isPassing(entries, i, test)) found[n++] = entries.docs[i]!
    return docsOf(found.subarray(0, n))
  }

  /** At most so many documents have an entry that passes; infinitely many when that takes too long to find out. */
  estimate(fields: readonly number[], { lowest, highest }: IntervalTest): number {
    if (fields.length > MOST_ESTIMATED) return Number.POSITIVE_INFINITY
    return fields.reduce((sum, field) => {
      const [n] = this.#statements.estimate.get(field, ALL, 0, highest, lowest) as unknown as [number]
      return sum + n + (this.#pending.get(field)?.docs.length ?? 0)
    }, 0)
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
    if (added.docs.length === 0 && this.#statements.any.get(field) === undefined) this.#onEmpty(field)
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

const NO_ENTRIES: Entries = { docs: new Uint32Array(0), lows: new Float64Array(0), highs: new Float64Array(0) }

/** The entry that begins there. */
function isPassing({ lows, highs }: Entries | Pending, at: number, { passes, others }: IntervalTest): boolean {
  if (!passes(lows[at]!, highs[at]!)) return false
  for (let i = 0; i < others.length; i++) if (!others[i]!(lows[at + 1 + i]!, highs[at + 1 + i]!)) return false
  return true
}

function entriesOf([first, n, packedDocs, bytes]: Block | FieldBlock): Entries {
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
