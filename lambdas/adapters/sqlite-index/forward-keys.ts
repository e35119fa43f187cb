/** Reads keys from the JSON of a forward entry without parsing all of it, because grouping reads the entry of every match. */
import { readEntry } from './forward-entry.ts'

/** Returns the values of the document's postings in the given combinations. `entry`: JSON of its forward entry. */
export function keysIn(entry: string, combinations: readonly number[]): readonly string[] {
  const keys: string[] = []
  for (let at = FIRST, more = entry.charCodeAt(FIRST) !== CLOSING; more; ) {
    const value = entry.indexOf('"', at)
    const end = endOf(entry, value)
    if (combinations.includes(numberIn(entry, at, value - 1))) keys.push(JSON.parse(entry.slice(value, end)) as string)
    more = entry.charCodeAt(end) === COMMA
    at = end + 1
  }
  return keys
}

/** Returns the groups that are stored for a field, or undefined if its groups follow from the keys (`keyFieldsOf`). */
export const explicitGroupKeys = (entry: string, field: number | undefined): readonly string[] | undefined =>
  entry.includes(`[${field},[`) ? readEntry(entry)[3].find(([own]) => own === field)?.[1] : undefined

/** Offset of the first posting. An entry begins with the postings: `[[1,"a",2,"b"],…`. */
const FIRST = 2
const [COMMA, CLOSING, BACKSLASH, ZERO] = [44, 93, 92, 48]

function numberIn(text: string, from: number, to: number): number {
  let number = 0
  for (let i = from; i < to; i++) number = number * 10 + text.charCodeAt(i) - ZERO
  return number
}

/** Returns the offset after the closing quote of the JSON string that begins at `start`. */
function endOf(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    let before = end - 1
    while (text.charCodeAt(before) === BACKSLASH) before--
    if ((end - before) % 2 === 1) return end + 1
  }
}
