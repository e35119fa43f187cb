/** Keys in a document's forward entry, found without parsing the rest: for groups it is asked of every match. */
import { readEntry } from './forward-entry.ts'

/** Its keys in some of the combinations. */
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

/** Its groups of a field, where they are kept on their own account. */
export const explicitGroupKeys = (entry: string, field: number | undefined): readonly string[] | undefined =>
  entry.includes(`[${field},[`) ? readEntry(entry)[3].find(([own]) => own === field)?.[1] : undefined

/** Postings are the first list: `[[1,"a",2,"b"],…`. */
const FIRST = 2
const [COMMA, CLOSING, BACKSLASH, ZERO] = [44, 93, 92, 48]

function numberIn(text: string, from: number, to: number): number {
  let number = 0
  for (let i = from; i < to; i++) number = number * 10 + text.charCodeAt(i) - ZERO
  return number
}

/** The place after a string of JSON. */
function endOf(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    let before = end - 1
    while (text.charCodeAt(before) === BACKSLASH) before--
    if ((end - before) % 2 === 1) return end + 1
  }
}
