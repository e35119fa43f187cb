/**
 * Numbers for sort values. They have the same order as the values, but different values may share a number.
 */
import type { ColumnSource, Legend, Value } from './cached-columns.ts'

const NO_LEGEND: Legend = { bytes: 0 }

/** Returns the column of the sort numbers. `sql`: SQL of the sort value of document `d`. */
export const sortNumbers = (sql: string): ColumnSource<Legend> => ({ name: sql, sql, legend: () => NO_LEGEND, numberOf: sortNumberOf })

/** Returns a key for a sort number, so that ascending keys are the requested order. Missing values stay last. */
export const orderKeyOf = (number: number, descending: boolean): number => (descending && number !== MISSING ? -number : number)

/** Number of a missing value. It is the highest. */
export const MISSING = Number.POSITIVE_INFINITY
/** Lowest number that `sortNumberOf` returns for a text. SQLite sorts texts after all numeric values. */
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
export function sortNumberOf(value: Value): number {
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
