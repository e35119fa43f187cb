/** Collects the index fields of one resource during extraction. */
import type { SortValues, Tuple } from '../ports/search/search-index.ts'
import type { SearchContext } from './search-context.ts'
import { MAX_SEARCHABLE_CHARACTERS } from './text-folding.ts'

type Lists<T> = Record<string, T[]>

/** Record for many fields. V8 keeps a class instance fast for more properties than an object literal. */
class Wide<T> {
  [field: string]: T
}

/** Names of the index fields of a parameter: the plain field, and fields with a suffix for one aspect of its values. */
export type FieldNames = ReturnType<typeof namesOf>

export const namesOf = (field: string) => ({
  field,
  code: `${field}:code`,
  system: `${field}:system`,
  text: `${field}:text`,
  exact: `${field}:exact`,
  identifier: `${field}:identifier`,
  canonical: `${field}:canonical`,
  ofType: `${field}:of-type`,
})

export class DocumentFields {
  readonly keys: Lists<string> = new Wide()
  readonly spans: Lists<readonly [low: number, high: number]> = {}
  readonly numbers: Lists<readonly [low: number, high: number]> = {}
  readonly points: Lists<readonly [latitude: number, longitude: number]> = {}
  readonly tuples: Lists<Tuple> = {}
  readonly groups: Lists<string> = new Wide()
  readonly order: Record<string, SortValues> = new Wide()
  readonly reading: SearchContext

  constructor(reading: SearchContext) {
    this.reading = reading
  }

  /**
   * Adds a key unless it is too long or present. Returns whether it was added. `isNew`: the caller knows that the key is absent, so skip
   * that check.
   */
  key(field: string, value: string, isNew = false): boolean {
    return addOnce(this.keys, field, value, isNew)
  }

  /**
   * Adds a resource to a group by code (`value`), and to a group by code and system (`both`). The two fields share one list while they are
   * equal.
   */
  group({ code, system }: FieldNames, value: string, both = value, isNew = false): void {
    const { groups } = this
    const isOneList = groups[code] === groups[system]
    if (isOneList && both !== value && groups[code] !== undefined) groups[system] = [...groups[code]]
    addOnce(groups, code, value, isNew)
    if (!isOneList || both !== value) addOnce(groups, system, both, isNew)
    else if (groups[code] !== undefined) groups[system] = groups[code]
  }

  /** Uses lists of keys as the groups of a parameter by code, and by code and system. An undefined list changes nothing. */
  groupsAre({ code, system }: FieldNames, codes: string[] | undefined, both: string[] | undefined): void {
    if (codes !== undefined) this.groups[code] = codes
    if (both !== undefined) this.groups[system] = both
  }

  point(field: string, latitude: number, longitude: number): void {
    add(this.points, field, [latitude, longitude])
  }

  tuple(field: string, tuple: Tuple): void {
    if (isShort(tuple.key) && tuple.labels.every(isShort)) add(this.tuples, field, tuple)
  }

  span(field: string, low: number, high: number): void {
    if (low < high) add(this.spans, field, [low, high])
  }

  number(field: string, low: number, high: number): void {
    if (low <= high) add(this.numbers, field, [low, high])
  }

  /**
   * Widens the sort values of a parameter to include `low` and `high`. Ascending sorts use the lowest value, descending sorts the highest.
   */
  sort(field: string, low: string | number, high: string | number = low): void {
    const before = this.order[field]
    if (before === undefined) this.order[field] = { low, high }
    else if (low < before.low || high > before.high)
      this.order[field] = { low: low < before.low ? low : before.low, high: high > before.high ? high : before.high }
  }
}

function add<T>(lists: Lists<T>, field: string, item: T): void {
  const list = lists[field]
  if (list === undefined) lists[field] = [item]
  else list.push(item)
}

function addOnce(lists: Lists<string>, field: string, item: string, isNew: boolean): boolean {
  const list = lists[field]
  if (list !== undefined) return addDistinctKey(list, item, isNew)
  if (!isShort(item)) return false
  lists[field] = [item]
  return true
}

/**
 * Adds a key unless it is too long or present. Returns whether it was added. `isNew`: the caller knows that the key is absent, so skip that
 * check.
 */
export function addDistinctKey(list: string[], key: string, isNew = false): boolean {
  if (!isShort(key) || (!isNew && includesKey(list, key))) return false
  list.push(key)
  return true
}

/** Length from which `includesKey` uses a set instead of scanning the list. The lists of most resources are shorter. */
const LONG = 50
const SETS = new WeakMap<readonly string[], Set<string>>()

/** Whether the list contains the key. Caches long lists as sets, so only `addDistinctKey` may change the list. */
export function includesKey(list: readonly string[], key: string): boolean {
  if (list.length < LONG) return list.includes(key)
  let set = SETS.get(list)
  if (set === undefined) {
    set = new Set()
    SETS.set(list, set)
  }
  // Keys are distinct, so the size of the set is the index of the first key that it lacks.
  for (let i = set.size; i < list.length; i++) set.add(list[i]!)
  return set.has(key)
}

const isShort = (text: string): boolean => text.length <= MAX_SEARCHABLE_CHARACTERS
