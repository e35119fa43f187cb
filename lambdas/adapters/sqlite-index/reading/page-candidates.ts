/**
 * Selects the documents that can be on a page, before SQLite reads and sorts them. Each sort value is cached as a number that never exceeds
 * the number of a later value. Documents with the same number all remain.
 */
import { type DocList, type DocSet, lastOf, listOf } from '../lists/document-sets.ts'
import type { Statements } from '../statements.ts'
import { BUDGET_CONDITION } from './budget.ts'

type Value = string | number | null

/**
 * `column`: SQL of the sort value of document `d`. `after`: sort value of the last document before the page; documents on the page may have
 * the same value. Missing values sort last.
 */
export type CandidateOrder = { readonly column: string; readonly descending: boolean; readonly after?: Value }

/** Maximum bytes of all cached columns. */
const ROOM = 32_000_000
/** Marks a number that is not cached yet. */
const UNKNOWN = Number.NaN

export class PageCandidates {
  readonly #statements: Statements
  readonly #room: number
  /** Numbers by document for each column. The most recently used column is last. */
  readonly #columns = new Map<string, Float64Array>()

  /** `room`: maximum bytes of all cached columns. */
  constructor(statements: Statements, room = ROOM) {
    this.#statements = statements
    this.#room = room
  }

  /** Returns at least the first `wanted` documents of the page. */
  of(docs: DocSet, { column, descending, after }: CandidateOrder, wanted: number): DocSet {
    if (docs.length <= wanted) return docs
    const numbers = this.#columnUpTo(lastOf(docs), column)
    if (numbers === undefined) return docs
    const list = listOf(docs)
    let keys = keysOf(list, numbers, descending)
    if (keys === undefined) {
      this.#learn(list, column, numbers)
      keys = keysOf(list, numbers, descending)
    }
    if (keys === undefined) return docs
    const from = after === undefined ? Number.NEGATIVE_INFINITY : keyOf(numberOf(after), descending)
    return between(list, keys, from, nthAbove(keys, from, wanted))
  }

  /** Must be called when the sort values of the document change. */
  forget(doc: number): void {
    for (const numbers of this.#columns.values()) if (doc < numbers.length) numbers[doc] = UNKNOWN
  }

  clear(): void {
    this.#columns.clear()
  }

  /** Returns undefined if the column is too large to cache. */
  #columnUpTo(last: number, column: string): Float64Array | undefined {
    const known = this.#columns.get(column)
    this.#columns.delete(column)
    const numbers = known !== undefined && last < known.length ? known : grown(known, last)
    if (numbers.byteLength > this.#room) return undefined
    this.#columns.set(column, numbers)
    let bytes = [...this.#columns.values()].reduce((sum, { byteLength }) => sum + byteLength, 0)
    for (const [other, { byteLength }] of this.#columns) {
      if (bytes <= this.#room) break
      this.#columns.delete(other)
      bytes -= byteLength
    }
    return numbers
  }

  #learn(list: DocList, column: string, numbers: Float64Array): void {
    const unknown = list.filter((doc) => Number.isNaN(numbers[doc]))
    const text = `SELECT d.doc, ${column} FROM json_each(?) c CROSS JOIN document d WHERE d.doc = c.value AND ${BUDGET_CONDITION.text}`
    for (const row of this.#statements.lists(text).all(`[${unknown.join(',')}]`)) {
      const [doc, value] = row as unknown as readonly [number, Value]
      numbers[doc] = numberOf(value)
    }
  }
}

/** Enlarges the column, with spare capacity for further documents. */
function grown(known: Float64Array = new Float64Array(0), last: number): Float64Array {
  const numbers = new Float64Array(Math.ceil((last + 1) * 1.25)).fill(UNKNOWN, known.length)
  numbers.set(known)
  return numbers
}

/** Returns keys that sort ascending, or undefined if a number is not cached. */
function keysOf(list: DocList, numbers: Float64Array, descending: boolean): Float64Array | undefined {
  const keys = new Float64Array(list.length)
  for (let i = 0; i < list.length; i++) {
    const number = numbers[list[i]!]!
    if (Number.isNaN(number)) return undefined
    keys[i] = keyOf(number, descending)
  }
  return keys
}

const keyOf = (number: number, descending: boolean): number => (descending && number !== MISSING ? -number : number)

/** Returns the documents with keys from `from` to `to`, both included. */
function between(list: DocList, keys: Float64Array, from: number, to: number): DocList {
  const into = new Uint32Array(list.length)
  let n = 0
  for (let i = 0; i < list.length; i++) if (keys[i]! >= from && keys[i]! <= to) into[n++] = list[i]!
  return into.subarray(0, n)
}

/** Returns the nth smallest key above `from`, or MISSING if there are fewer. */
function nthAbove(keys: Float64Array, from: number, nth: number): number {
  const above = new Float64Array(keys.length)
  let n = 0
  for (let i = 0; i < keys.length; i++) if (keys[i]! > from) above[n++] = keys[i]!
  return n < nth ? MISSING : selected(above.subarray(0, n), nth - 1)
}

/** Returns the value that sorting would put at the index `place`. Reorders `values`. https://doi.org/10.1145/366622.366647 */
function selected(values: Float64Array, place: number): number {
  let [low, high] = [0, values.length - 1]
  while (low < high) {
    const pivot = values[(low + high) >>> 1]!
    let [left, right] = [low, high]
    while (left <= right) {
      while (values[left]! < pivot) left++
      while (values[right]! > pivot) right--
      if (left > right) break
      const moved = values[left]!
      values[left++] = values[right]!
      values[right--] = moved
    }
    if (place <= right) high = right
    else if (place >= left) low = left
    else break
  }
  return values[place]!
}

const MISSING = Number.POSITIVE_INFINITY
/** Start of the numbers of texts, which sort after all numbers. */
const TEXT = 2 ** 1023
const LARGEST_NUMBER = TEXT * (1 - Number.EPSILON / 2)
/** Number of leading bytes that determine the number of a text, and how many such numbers exist. */
const LEADING_BYTES = 6
const TEXTS = 2 ** (8 * LEADING_BYTES)

const encoder = new TextEncoder()
/** A UTF-16 code unit takes at most three bytes. */
const encoded = new Uint8Array(3 * LEADING_BYTES)

/** Returns a number for a value, in the order in which SQLite compares values. */
function numberOf(value: Value): number {
  if (value === null) return MISSING
  if (typeof value === 'number') return Math.min(value, LARGEST_NUMBER)
  encoded.fill(0, 0, LEADING_BYTES)
  // A surrogate pair that is cut in half leaves at most the byte EF. A whole one starts with F0 or more, so the order is preserved.
  encoder.encodeInto(value.slice(0, LEADING_BYTES), encoded)
  let number = 0
  for (let i = 0; i < LEADING_BYTES; i++) number = number * 256 + encoded[i]!
  return TEXT * (1 + number / TEXTS)
}
