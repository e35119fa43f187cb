/**
 * Forward entry of a document, stored in column `held` of its row. It lists the index rows of the document, so that an update can remove
 * them, and its explicit groups.
 */
import type { IndexDocument } from '../../ports/search/search-index.ts'

export type GeoPoint = readonly [field: number, latitude: number, longitude: number, doc: number]

/** Flat lists of rows, without the document number. */
export type ForwardEntry = readonly [
  /** Pairs of combination and value. */
  postings: readonly (number | string)[],
  /** Fields, and negated tuple lists, in which the document has intervals. */
  intervals: readonly number[],
  /** Triples of field, latitude and longitude. */
  points: readonly number[],
  groups: ExplicitGroups,
]

/** Group keys of a field, stored only if the postings do not imply them. */
export type ExplicitGroups = readonly (readonly [field: number, keys: readonly string[]])[]

export const EMPTY_ENTRY: ForwardEntry = [[], [], [], []]

export const readEntry = (text: string): ForwardEntry => (text === '' ? EMPTY_ENTRY : (JSON.parse(text) as ForwardEntry))

/** Yields the rows of a flat list, each with this number of columns. */
export function* toRows<Row>(flat: readonly unknown[], columns: number): Generator<Row> {
  for (let i = 0; i < flat.length; i += columns) yield flat.slice(i, i + columns) as Row
}

/** Returns the key fields that usually equal the groups of a field. The first one in which a document has keys applies. */
export const keyFieldsOf = remembered((field) => {
  const parameter = field.slice(0, field.lastIndexOf(':'))
  return [...(field.endsWith(':code') ? [field] : []), `${parameter}:exact`, parameter, `${parameter}:code`]
})

const groupFieldsOf = remembered((parameter) => [`${parameter}:code`, `${parameter}:system`])

/** Returns the groups that the key fields do not imply, and that must therefore be stored. */
export function explicitGroupsOf({ keys, groups, present }: IndexDocument, fieldOf: (name: string) => number): ExplicitGroups {
  const own: [number, readonly string[]][] = []
  const compare = (field: string, kept: readonly string[]): void => {
    const source = firstOf(keys, keyFieldsOf(field))
    if (kept !== source && !isSame(kept, source)) own.push([fieldOf(field), kept])
  }
  for (const field in groups) compare(field, groups[field]!)
  for (const parameter of present) for (const field of groupFieldsOf(parameter)) if (groups[field] === undefined) compare(field, NONE)
  return own
}

const MOST_REMEMBERED = 10_000

/** Caches names derived from a name, because every document needs them. */
function remembered(make: (name: string) => readonly string[]): (name: string) => readonly string[] {
  const known = new Map<string, readonly string[]>()
  return (name) => {
    let made = known.get(name)
    if (made === undefined) {
      made = make(name)
      if (known.size < MOST_REMEMBERED) known.set(name, made)
    }
    return made
  }
}

const NONE: readonly string[] = []

function firstOf(keys: IndexDocument['keys'], fields: readonly string[]): readonly string[] {
  for (const field of fields) if (keys[field] !== undefined) return keys[field]
  return NONE
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}
