/** The plan's meaning, executable: what every index is tested against, and how a single resource is judged. */
import type { IndexDocument } from '../ports/search-index.ts'
import { compareText, type Position, type Predicate, type SortKey } from './plan.ts'

export function evaluate(where: Predicate, document: IndexDocument): boolean {
  switch (where.kind) {
    case 'all':
      return where.of.every((each) => evaluate(each, document))
    case 'some':
      return where.of.some((each) => evaluate(each, document))
    case 'not':
      return !evaluate(where.of, document)
    case 'key':
      return keysOf(document, where.field).some((key) => where.oneOf.includes(key))
    case 'keyRange':
      return keysOf(document, where.field).some(
        (key) => compareText(key, where.from) >= 0 && (where.to === undefined || compareText(key, where.to) < 0),
      )
    case 'contains':
      return keysOf(document, where.field).some((key) => key.includes(where.text))
    case 'span':
      return (document.spans[where.field] ?? []).some(([low, high]) =>
        where.relation === 'within' ? low >= where.low && high <= where.high : low < where.high && high > where.low,
      )
    case 'number':
      return (document.numbers[where.field] ?? []).some(([low, high]) =>
        where.relation === 'within' ? low >= where.low && below(high, where.high) : below(low, where.high) && high >= where.low,
      )
    case 'near':
      return (document.points[where.field] ?? []).some(
        ([latitude, longitude]) => metresBetween(latitude, longitude, where.latitude, where.longitude) <= where.metres,
      )
    case 'present':
      return document.present.includes(where.field)
    case 'tuple':
      throw new TypeError('no parameter makes tuples yet')
    case 'compartment':
      return document.compartments.some((compartment) => where.oneOf.includes(compartment))
  }
}

const keysOf = (document: IndexDocument, field: string): readonly string[] => document.keys[field] ?? []

/** The interval is half-open, but infinity is in it when it is open to that side. */
const below = (value: number, high: number): boolean => value < high || high === Number.POSITIVE_INFINITY

const EARTH = 6_371_008.8

/** Haversine, on a sphere of the Earth's mean radius in metres. */
function metresBetween(aLatitude: number, aLongitude: number, bLatitude: number, bLongitude: number): number {
  const rad = Math.PI / 180
  const h =
    Math.sin(((bLatitude - aLatitude) * rad) / 2) ** 2 +
    Math.cos(aLatitude * rad) * Math.cos(bLatitude * rad) * Math.sin(((bLongitude - aLongitude) * rad) / 2) ** 2
  return 2 * EARTH * Math.asin(Math.min(1, Math.sqrt(h)))
}

/** The sort values of a document, and its place among equals. */
export const positionOf = ({ type, id, order }: IndexDocument, keys: readonly SortKey[]): Position => ({
  values: keys.map(({ param, descending }) => order[param]?.[descending ? 'high' : 'low'] ?? null),
  type,
  id,
})
