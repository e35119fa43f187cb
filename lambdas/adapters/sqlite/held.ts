/** What the index remembers of a document: its rows, so that they can be taken out again, and the groups it belongs to. */
import type { IndexDocument } from '../../ports/search-index.ts'

export type Posting = readonly [field: number, value: string, doc: number]
export type Span = readonly [field: number, low: number, high: number, doc: number]
export type TupleRow = readonly [
  field: number,
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
  readonly postings: readonly (readonly [field: number, value: string])[]
  /** Infinity is no JSON, so that bounds are kept as text. */
  readonly spans: readonly (readonly [field: number, low: string, high: string])[]
  readonly tuples: readonly (readonly [field: number, key: string, low0: string, n: number])[]
  readonly points: readonly (readonly [field: number, latitude: number, longitude: number])[]
  /** Group keys by field, where they are not what the postings tell. */
  readonly groups: Readonly<Record<number, readonly string[]>>
}

/** Texts stand once each, and numbers in rows one after the other: most texts are found under several fields. */
type Packed = readonly [
  texts: readonly string[],
  postings: readonly number[],
  spans: readonly (number | string)[],
  tuples?: readonly (number | string)[],
  points?: readonly number[],
  groups?: Readonly<Record<number, readonly number[]>>,
]

export function writeHeld({ postings, spans, tuples, points, groups }: Held): string {
  const places = new Map<string, number>()
  const placeOf = (text: string): number => {
    let place = places.get(text)
    if (place === undefined) {
      place = places.size
      places.set(text, place)
    }
    return place
  }
  const rows: number[] = []
  for (const [field, value] of postings) rows.push(field, placeOf(value))
  const tupleRows = tuples.flatMap(([field, key, low, n]) => [field, placeOf(key), low, n])
  const groupRows = Object.entries(groups).map(([field, keys]) => [field, keys.map(placeOf)] as const)
  const packed: Packed = [[...places.keys()], rows, spans.flat(), tupleRows, points.flat(), Object.fromEntries(groupRows)]
  return JSON.stringify(packed)
}

export function readHeld(text: string): Held {
  if (text === '') return { postings: [], spans: [], tuples: [], points: [], groups: {} }
  const [texts, postings, spans, tuples = [], points = [], groups = {}] = JSON.parse(text) as Packed
  return {
    postings: inRows(postings, 2).map(([field, place]) => [field!, texts[place!]!]),
    spans: inRows(spans, 3) as unknown as Held['spans'],
    tuples: inRows(tuples, 4).map(([field, place, low, n]) => [Number(field), texts[Number(place)]!, String(low), Number(n)]),
    points: inRows(points, 3) as unknown as Held['points'],
    groups: Object.fromEntries(Object.entries(groups).map(([field, places]) => [field, places.map((place) => texts[place]!)])),
  }
}

function inRows<T>(flat: readonly T[], columns: number): readonly (readonly T[])[] {
  const rows: T[][] = []
  for (let i = 0; i < flat.length; i += columns) rows.push(flat.slice(i, i + columns))
  return rows
}

/** The key fields that mostly hold the groups of a field: the first that a document has does. */
export function keyFieldsOf(field: string): readonly string[] {
  const param = field.slice(0, field.lastIndexOf(':'))
  return [...(field.endsWith(':code') ? [field] : []), `${param}:exact`, param]
}

/** The groups that must be kept on their own account. */
export function ownGroups({ keys, groups, present }: IndexDocument, fieldOf: (name: string) => number): Held['groups'] {
  const own: Record<number, readonly string[]> = {}
  const compare = (field: string, sources: readonly string[]): void => {
    const kept = groups[field] ?? NONE
    const source = keys[sources.find((name) => keys[name] !== undefined) ?? ''] ?? NONE
    if (kept !== source && !isSame(kept, source)) own[fieldOf(field)] = kept
  }
  for (const param of present) for (const [field, sources] of groupFields(param)) compare(field, sources)
  for (const field in groups) if (!present.includes(field.slice(0, field.lastIndexOf(':')))) compare(field, keyFieldsOf(field))
  return own
}

const GROUP_FIELDS = new Map<string, readonly (readonly [field: string, sources: readonly string[]])[]>()
const MOST_KNOWN = 10_000

function groupFields(param: string): readonly (readonly [field: string, sources: readonly string[]])[] {
  let found = GROUP_FIELDS.get(param)
  if (found === undefined) {
    found = [`${param}:code`, `${param}:system`].map((field) => [field, keyFieldsOf(field)] as const)
    if (GROUP_FIELDS.size < MOST_KNOWN) GROUP_FIELDS.set(param, found)
  }
  return found
}

const NONE: readonly string[] = []

const isSame = (a: readonly string[], b: readonly string[]): boolean => a.length === b.length && a.every((each, i) => each === b[i])
