/**
 * Forward entry of a document: its index rows, so that an update can remove them, and the groups that do not follow from its keys. It is
 * stored as JSON in column `held` of table `document`.
 */
import type { IndexDocument } from '../../ports/search/search-index.ts'

export type GeoPoint = readonly [field: number, latitude: number, longitude: number, doc: number]

/**
 * Forward entry of one document. Each of `postings`, `intervals` and `points` holds the columns of one row after another, without the
 * document number.
 */
export type ForwardEntry = readonly [
  /** Pairs of combination number and value: the terms whose lists contain the document. */
  postings: readonly (number | string)[],
  /** Numbers under which the document has intervals: field numbers, and negated numbers of tuple lists (tuple-lists.ts). */
  intervals: readonly number[],
  /** Triples of field number, latitude and longitude in degrees. */
  points: readonly number[],
  groups: ExplicitGroups,
]

/** Group keys by field number, only for fields whose groups do not follow from the keys of the document. */
export type ExplicitGroups = readonly (readonly [field: number, keys: readonly string[]])[]

export const EMPTY_ENTRY: ForwardEntry = [[], [], [], []]

export const readEntry = (text: string): ForwardEntry => (text === '' ? EMPTY_ENTRY : (JSON.parse(text) as ForwardEntry))

/** Splits a flat list into rows of `columns` values each. */
export function* toRows<Row>(flat: readonly unknown[], columns: number): Generator<Row> {
  for (let i = 0; i < flat.length; i += columns) yield flat.slice(i, i + columns) as Row
}

/**
 * Returns the names of the key fields from which the groups of a field follow, in order of precedence. The first field in which a document
 * has keys supplies its groups, unless explicit groups are stored.
 */
export const keyFieldsOf = remembered((field) => {
  const parameter = field.slice(0, field.lastIndexOf(':'))
  return [...(field.endsWith(':code') ? [field] : []), `${parameter}:exact`, parameter, `${parameter}:code`]
})

const groupFieldsOf = remembered((parameter) => [`${parameter}:code`, `${parameter}:system`])

/**
 * Returns the groups of each field whose groups do not follow from its key fields. Only these are stored. A field without groups gets an
 * empty list if its key fields would imply some.
 */
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

/** Returns `make` with a cache, because the names are derived again for every document. A full cache takes no further names. */
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
