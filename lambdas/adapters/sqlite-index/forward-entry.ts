/** The forward entry of a document, column `held` of its row: where it stands in the lists, so that it can be taken out again, and the groups it belongs to. */
import type { IndexDocument } from '../../ports/search/search-index.ts'

export type GeoPoint = readonly [field: number, latitude: number, longitude: number, doc: number]

/** Rows one after the other, without the document's number. */
export type ForwardEntry = readonly [
  /** Combination and value. */
  postings: readonly (number | string)[],
  /** The fields, and the lists of tuples, it has intervals in. */
  intervals: readonly number[],
  /** Field, latitude and longitude. */
  points: readonly number[],
  groups: ExplicitGroups,
]

/** The keys of a field's groups, where they are not what the postings tell. */
export type ExplicitGroups = readonly (readonly [field: number, keys: readonly string[]])[]

export const EMPTY_ENTRY: ForwardEntry = [[], [], [], []]

export const readEntry = (text: string): ForwardEntry => (text === '' ? EMPTY_ENTRY : (JSON.parse(text) as ForwardEntry))

/** Lists in their parts of so many. */
export function* toRows<Row>(flat: readonly unknown[], columns: number): Generator<Row> {
  for (let i = 0; i < flat.length; i += columns) yield flat.slice(i, i + columns) as Row
}

/** The key fields that mostly hold the groups of a field: the first that a document has does. */
export const keyFieldsOf = remembered((field) => {
  const parameter = field.slice(0, field.lastIndexOf(':'))
  return [...(field.endsWith(':code') ? [field] : []), `${parameter}:exact`, parameter, `${parameter}:code`]
})

const groupFieldsOf = remembered((parameter) => [`${parameter}:code`, `${parameter}:system`])

/** The groups that must be kept on their own account. */
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

/** Names made of a name, made once: they are asked for with every document. */
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
