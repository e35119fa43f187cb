/** Collects what extraction finds in one resource. */
import type { OrderKey } from '../ports/search-index.ts'
import { LONGEST } from './fold.ts'

type Lists<T> = Record<string, T[]>

export class Fields {
  readonly keys: Lists<string> = {}
  readonly spans: Lists<readonly [low: number, high: number]> = {}
  readonly numbers: Lists<readonly [low: number, high: number]> = {}
  readonly points: Lists<readonly [latitude: number, longitude: number]> = {}
  readonly order: Record<string, OrderKey> = {}
  readonly baseUrl: string | undefined

  /** `baseUrl` of this server, without a slash at the end. */
  constructor(baseUrl: string | undefined) {
    this.baseUrl = baseUrl
  }

  /** A key that is too long is left out. */
  key(field: string, value: string): void {
    if (value.length > LONGEST) return
    const list = this.keys[field]
    if (list === undefined) this.keys[field] = [value]
    else if (!list.includes(value)) list.push(value)
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
