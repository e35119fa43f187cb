/** What the index remembers of a document: its rows, so that they can be taken out again, and the groups it belongs to. */
import type { IndexDocument } from '../../ports/search-index.ts'

export type Posting = readonly [combination: number, value: string, doc: number]
export type Span = readonly [field: number, low: number, high: number, doc: number]
export type TupleRow = readonly [
  combination: number,
  key: string,
  /** 0 where there is no interval: part of the primary key. */
  low0: number,
  doc: number,
  n: number,
  high0: number | null,
  low1: number | null,
  high1: number | null,
  labels: string,
]
export type Point = readonly [field: number, latitude: number, longitude: number, doc: number]

export type Held = {
  readonly postings: readonly (readonly [combination: number, value: string])[]
  /** Infinity is no JSON, so that bounds are kept as text. */
  readonly spans: readonly (readonly [field: number, low: string, high: string])[]
  readonly tuples: readonly (readonly [combination: number, key: string, low0: string, n: number])[]
  readonly points: readonly (readonly [field: number, latitude: number, longitude: number])[]
  readonly groups: Groups
}

/** The keys of a field's groups, where they are not what the postings tell. */
export type Groups = readonly (readonly [field: number, keys: readonly string[]])[]

/** Rows one after the other, without the document's number. */
type Packed = readonly [
  postings: readonly (number | string)[],
  spans: readonly (number | string)[],
  tuples: readonly (number | string)[],
  points: readonly number[],
  groups: Groups,
]

export type RowsOfOne = {
  readonly postings: readonly Posting[]
  readonly spans: readonly Span[]
  readonly tuples: readonly TupleRow[]
  readonly points: readonly Point[]
}

export function writeHeld({ postings, spans, tuples, points }: RowsOfOne, groups: Groups): string {
  const packed: readonly [(number | string)[], (number | string)[], (number | string)[], number[], Groups] = [[], [], [], [], groups]
  for (const [combination, value] of postings) packed[0].push(combination, value)
  for (const [field, low, high] of spans) packed[1].push(field, String(low), String(high))
  for (const [combination, key, low, , n] of tuples) packed[2].push(combination, key, String(low), n)
  for (const [field, latitude, longitude] of points) packed[3].push(field, latitude, longitude)
  return JSON.stringify(packed satisfies Packed)
}

export function readHeld(text: string): Held {
  if (text === '') return { postings: [], spans: [], tuples: [], points: [], groups: [] }
  const [postings, spans, tuples, points, groups] = JSON.parse(text) as Packed
  return {
    postings: inRows(postings, 2) as Held['postings'],
    spans: inRows(spans, 3) as unknown as Held['spans'],
    tuples: inRows(tuples, 4) as unknown as Held['tuples'],
    points: inRows(points, 3) as unknown as Held['points'],
    groups,
  }
}

function inRows<T>(flat: readonly T[], columns: number): readonly (readonly T[])[] {
  const rows: T[][] = []
  for (let i = 0; i < flat.length; i += columns) rows.push(flat.slice(i, i + columns))
  return rows
}

/** The key fields that mostly hold the groups of a field: the first that a document has does. */
export const keyFieldsOf = remembered((field) => {
  const param = field.slice(0, field.lastIndexOf(':'))
  return [...(field.endsWith(':code') ? [field] : []), `${param}:exact`, param, `${param}:code`]
})

const groupFieldsOf = remembered((param) => [`${param}:code`, `${param}:system`])

/** The groups that must be kept on their own account. */
export function ownGroups({ keys, groups, present }: IndexDocument, fieldOf: (name: string) => number): Groups {
  const own: [number, readonly string[]][] = []
  const compare = (field: string, kept: readonly string[]): void => {
    const source = firstOf(keys, keyFieldsOf(field))
    if (kept !== source && !isSame(kept, source)) own.push([fieldOf(field), kept])
  }
  for (const field in groups) compare(field, groups[field]!)
  for (const param of present) for (const field of groupFieldsOf(param)) if (groups[field] === undefined) compare(field, NONE)
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
