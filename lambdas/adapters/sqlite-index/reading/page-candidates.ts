/**
 * Selects the documents that can be on a page, so that SQLite reads and sorts only these. Each sort value is cached as a number. The
 * numbers have the same order as the values, but different values may share a number. All documents with the same number are therefore kept
 * or dropped together.
 */
import { type DocList, type DocSet, lastOf, listOf } from '../lists/document-sets.ts'
import type { Statements } from '../statements.ts'
import { BUDGET_CONDITION } from './budget.ts'

type Value = string | number | null

/**
 * `column`: SQL of the sort value of document `d`. `after`: sort value of the last document before the page. Documents on the page may have
 * the same value. Documents without a value come last.
 */
export type CandidateOrder = { readonly column: string; readonly descending: boolean; readonly after?: Value }

/** Maximum bytes of all cached columns. Above it, the columns that were not used for the longest time are dropped. */
const ROOM = 32_000_000
/** Number of a document whose sort value is not cached. */
const UNKNOWN = Number.NaN

export class PageCandidates {
  readonly #statements: Statements
  readonly #room: number
  /** Cached numbers by column, then by document number. The most recently used column is last. */
  readonly #columns = new Map<string, Float64Array>()

  /** `room`: maximum bytes of all cached columns. */
  constructor(statements: Statements, room = ROOM) {
    this.#statements = statements
    this.#room = room
  }

  /** Returns the documents that can be among the first `wanted` of the page. Returns all `docs` if the column is too large to cache. */
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

  /** Removes the cached numbers of a document. Must be called when its sort values change. */
  forget(doc: number): void {
    for (const numbers of this.#columns.values()) if (doc < numbers.length) numbers[doc] = UNKNOWN
  }

  clear(): void {
    this.#columns.clear()
  }

  /** Returns the cached column, enlarged up to document `last`. Returns undefined if it would take more than `#room` bytes. */
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

/** Returns a copy of the column that includes document `last` and has room for a quarter more documents. */
function grown(known: Float64Array = new Float64Array(0), last: number): Float64Array {
  const numbers = new Float64Array(Math.ceil((last + 1) * 1.25)).fill(UNKNOWN, known.length)
  numbers.set(known)
  return numbers
}

/** Returns one key per document, so that ascending keys are the requested order. Returns undefined if a number is not cached. */
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

/** Returns the documents of `list` whose keys are from `from` to `to`, both included. `keys`: by index in `list`. */
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

/**
 * Returns the value that would be at the index `place` if `values` were sorted (quickselect). Reorders `values`.
 * https://doi.org/10.1145/366622.366647
 */
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
/** Lowest number that `numberOf` returns for a text. SQLite sorts texts after all numeric values. */
const TEXT = 2 ** 1023
const LARGEST_NUMBER = TEXT * (1 - Number.EPSILON / 2)
/** Number of leading bytes of a text, in UTF-8, that determine its number. Texts with the same leading bytes share a number. */
const LEADING_BYTES = 6
/** Number of different sequences of leading bytes. */
const TEXTS = 2 ** (8 * LEADING_BYTES)

const encoder = new TextEncoder()
/** Buffer for the leading bytes of a text. UTF-8 needs at most three bytes for a UTF-16 code unit. */
const encoded = new Uint8Array(3 * LEADING_BYTES)

/**
 * Returns a number for a sort value. It never exceeds the number of a value that SQLite sorts later. Missing values get the highest number.
 */
function numberOf(value: Value): number {
  if (value === null) return MISSING
  if (typeof value === 'number') return Math.min(value, LARGEST_NUMBER)
  encoded.fill(0, 0, LEADING_BYTES)
  // The cut may split a surrogate pair. Of the half, at most the byte EF counts. A whole pair starts with F0 or more, so the order is
  // preserved.
  encoder.encodeInto(value.slice(0, LEADING_BYTES), encoded)
  let number = 0
  for (let i = 0; i < LEADING_BYTES; i++) number = number * 256 + encoded[i]!
  return TEXT * (1 + number / TEXTS)
}
