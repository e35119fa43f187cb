/**
 * Which documents a page can have, before SQLite reads and sorts them: by what is known by heart of the values they are sorted by. A number stands
 * for each value, never greater than that of a value that stands after it, and all documents with the same number stay.
 */
import { type DocList, type DocSet, lastOf, listOf } from '../lists/document-sets.ts'
import type { Statements } from '../statements.ts'
import { BUDGET_CONDITION } from './budget.ts'

type Value = string | number | null

/** `column`: of the document `d`, in SQL. `after`: the value of a document before the page, perhaps also of some on it. Missing values stand last. */
export type CandidateOrder = { readonly column: string; readonly descending: boolean; readonly after?: Value }

/** Bytes of all columns. */
const ROOM = 32_000_000
/** Not known yet. */
const UNKNOWN = Number.NaN

export class PageCandidates {
  readonly #statements: Statements
  readonly #room: number
  /** Numbers by document, those last that were used last. */
  readonly #columns = new Map<string, Float64Array>()

  /** `room`: bytes. */
  constructor(statements: Statements, room = ROOM) {
    this.#statements = statements
    this.#room = room
  }

  /** Of the documents at least the first `wanted` of the page. */
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

  /** The document has other values now. */
  forget(doc: number): void {
    for (const numbers of this.#columns.values()) if (doc < numbers.length) numbers[doc] = UNKNOWN
  }

  clear(): void {
    this.#columns.clear()
  }

  /** undefined: there is no room for it. */
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

/** With room for a few documents more. */
function grown(known: Float64Array = new Float64Array(0), last: number): Float64Array {
  const numbers = new Float64Array(Math.ceil((last + 1) * 1.25)).fill(UNKNOWN, known.length)
  numbers.set(known)
  return numbers
}

/** Smaller ones stand first; undefined where a number is not known. */
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

/** The documents whose keys are not outside. */
function between(list: DocList, keys: Float64Array, from: number, to: number): DocList {
  const into = new Uint32Array(list.length)
  let n = 0
  for (let i = 0; i < list.length; i++) if (keys[i]! >= from && keys[i]! <= to) into[n++] = list[i]!
  return into.subarray(0, n)
}

/** The nth of the keys above a number, in their order; that of missing values where there are fewer. */
function nthAbove(keys: Float64Array, from: number, nth: number): number {
  const above = new Float64Array(keys.length)
  let n = 0
  for (let i = 0; i < keys.length; i++) if (keys[i]! > from) above[n++] = keys[i]!
  return n < nth ? MISSING : selected(above.subarray(0, n), nth - 1)
}

/** What would stand at a place if the values were sorted; changes their order. https://doi.org/10.1145/366622.366647 */
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
/** Texts stand after all numbers. */
const TEXT = 2 ** 1023
const LARGEST_NUMBER = TEXT * (1 - Number.EPSILON / 2)
/** Of a text so many bytes are looked at, which together are one of so many numbers. */
const LEADING_BYTES = 6
const TEXTS = 2 ** (8 * LEADING_BYTES)

const encoder = new TextEncoder()
/** A code unit takes at most three. */
const encoded = new Uint8Array(3 * LEADING_BYTES)

/** In the order in which SQLite compares values. */
function numberOf(value: Value): number {
  if (value === null) return MISSING
  if (typeof value === 'number') return Math.min(value, LARGEST_NUMBER)
  encoded.fill(0, 0, LEADING_BYTES)
  // Of a character cut in half the byte EF is left, as of the last of three bytes: none stands between these and those that are cut there.
  encoder.encodeInto(value.slice(0, LEADING_BYTES), encoded)
  let number = 0
  for (let i = 0; i < LEADING_BYTES; i++) number = number * 256 + encoded[i]!
  return TEXT * (1 + number / TEXTS)
}
