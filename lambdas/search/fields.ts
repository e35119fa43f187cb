/** Collects what extraction finds in one resource. */
import type { OrderKey, Tuple } from '../ports/search-index.ts'
import { LONGEST } from './fold.ts'
import type { Reading } from './reading.ts'

type Lists<T> = Record<string, T[]>

export class Fields {
  readonly keys: Lists<string> = {}
  readonly spans: Lists<readonly [low: number, high: number]> = {}
  readonly numbers: Lists<readonly [low: number, high: number]> = {}
  readonly points: Lists<readonly [latitude: number, longitude: number]> = {}
  readonly tuples: Lists<Tuple> = {}
  readonly groups: Lists<string> = {}
  readonly order: Record<string, OrderKey> = {}
  readonly reading: Reading

  constructor(reading: Reading) {
    this.reading = reading
  }

  /** A key that is too long is left out. */
  key(field: string, value: string): void {
    addOnce(this.keys, field, value)
  }

  /** What the resource is grouped by: the code alone, and together with its system. */
  group(param: string, code: string, both = code): void {
    addOnce(this.groups, `${param}:code`, code)
    addOnce(this.groups, `${param}:system`, both)
  }

  /** The groups of a parameter are these keys. */
  groupsAre(param: string, codes: string[] | undefined, both: string[] | undefined): void {
    if (codes !== undefined) this.groups[`${param}:code`] = codes
    if (both !== undefined) this.groups[`${param}:system`] = both
  }

  point(field: string, latitude: number, longitude: number): void {
    add(this.points, field, [latitude, longitude])
  }

  tuple(field: string, tuple: Tuple): void {
    if (tuple.key.length <= LONGEST && tuple.labels.every((label) => label.length <= LONGEST)) add(this.tuples, field, tuple)
  }

  span(field: string, low: number, high: number): void {
    if (low < high) add(this.spans, field, [low, high])
  }

  number(field: string, low: number, high: number): void {
    if (low <= high) add(this.numbers, field, [low, high])
  }

  /** Widens the sort values of a parameter: the lowest is its low, the highest its high. */
  sort(param: string, low: string | number, high: string | number = low): void {
    const before = this.order[param]
    this.order[param] =
      before === undefined ? { low, high } : { low: low < before.low ? low : before.low, high: high > before.high ? high : before.high }
  }
}

function add<T>(lists: Lists<T>, field: string, item: T): void {
  const list = lists[field]
  if (list === undefined) lists[field] = [item]
  else list.push(item)
}

function addOnce(lists: Lists<string>, field: string, item: string): void {
  if (item.length > LONGEST) return
  const list = lists[field]
  if (list === undefined) lists[field] = [item]
  else if (!list.includes(item)) list.push(item)
}
