/**
 * Finds resources by plan.
 *
 * Guarantees
 * - `apply` is idempotent and order-tolerant: replays and reorderings end at each resource's highest version.
 * - `find` returns live resources the plan's predicate holds on (search/evaluate.ts is its meaning), in the plan's order, at most
 *   `limit`, strictly after `after`. Deleted resources and other tenants are never found.
 * - `groups` is exact: every match is in the group of each of its keys, none in another, and sizes count them all.
 * - What `caughtUp` reported as visible is seen by every later `find`.
 * - The index never decides what a value means: it compares keys by code point and numbers by value.
 */
import type { Freshness, GroupPlan, HitPosition, Matching, Plan, SearchSubject } from './plan.ts'

export type SortValues = { readonly low: string | number; readonly high: string | number }

/** What search/documents/extract.ts makes of a resource version: dumb values only. */
export type IndexDocument = {
  readonly tenant: string
  readonly type: string
  readonly id: string
  readonly version: number
  /** Milliseconds since 1970, UTC. */
  readonly lastUpdated: number
  readonly deleted: boolean
  /** Matched exactly, by prefix, by range or by containment; each at most 8,000 characters. */
  readonly keys: Readonly<Record<string, readonly string[]>>
  /** Half-open intervals in milliseconds. */
  readonly spans: Readonly<Record<string, readonly (readonly [low: number, high: number])[]>>
  readonly numbers: Readonly<Record<string, readonly (readonly [low: number, high: number])[]>>
  readonly points: Readonly<Record<string, readonly (readonly [latitude: number, longitude: number])[]>>
  /** Values that are matched together. */
  readonly tuples: Readonly<Record<string, readonly Tuple[]>>
  /** The groups the resource belongs to, by what it is grouped by: `code:code`, `code:system`. */
  readonly groups: Readonly<Record<string, readonly string[]>>
  /** Sort values by parameter code: ascending by low, descending by high. */
  readonly order: Readonly<Record<string, SortValues>>
  /** Parameter codes that had a value. */
  readonly present: readonly string[]
  readonly compartments: readonly string[]
  /** The number of the parameter registry it was extracted with. */
  readonly registry: number
  /** The resource, for indexes that keep it so that a search needs no second read. */
  readonly body: Uint8Array
}

/** Intervals are half-open; those of numbers may be points. Labels hold no line break. */
export type Tuple = {
  readonly key: string
  readonly labels: readonly string[]
  readonly ranges: readonly (readonly [low: number, high: number])[]
}

export type Hit = {
  readonly type: string
  readonly id: string
  readonly version: number
  readonly position: HitPosition
  /** Absent where the index does not keep bodies: read the version from the store. */
  readonly body?: Uint8Array
}

/** `lag`: acknowledged versions that were not looked at, where that was allowed and is known. */
type Page = { readonly more: boolean; readonly lag?: number }

/** `pulse`: where it was asked for, what was acknowledged before this instant is in what was searched: ms since 1970. Absent: nobody knows. */
export type HitPage = Page & { readonly hits: readonly Hit[]; readonly total?: number; readonly pulse?: number }

/** `size`: matches in it. `hits`: the first of them. */
export type HitGroup = { readonly key: string; readonly size: number; readonly hits: readonly Hit[] }

/** `total`: matches, whether in a group or not. */
export type GroupPage = Page & { readonly groups: readonly HitGroup[]; readonly total: number }

export interface SearchIndex {
  apply(documents: readonly IndexDocument[]): Promise<void>
  find(plan: Plan): Promise<HitPage>
  /** Distinct keys of a field among the matches, in no order, at most `limit` of them. */
  distinct(matching: Matching & Freshness, field: string, limit: number): Promise<readonly string[]>
  /** What `find` would ask the engine, for people. */
  explain(plan: Plan): Promise<readonly string[]>
  /** TooManyGroups: more than 65,535. */
  groups(plan: GroupPlan): Promise<GroupPage>
  /**
   * Waits until everything acknowledged before the call, or up to `tokens`, is visible. Returns false if it is not after `patience`
   * milliseconds. An index with a time limit of its own throws IndexBehind or SearchTooCostly instead. `tenant`: the index may skip waiting for other
   * tenants.
   */
  caughtUp(tokens: readonly string[], patience: number, tenant?: string): Promise<boolean>
  /** Codes of parameters by which documents of another release may not be found. Absent: they never are of another. */
  readonly outdated?: (asked: SearchSubject) => Promise<readonly string[]>
}
