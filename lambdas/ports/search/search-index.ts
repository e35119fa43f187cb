/**
 * Finds resources by plan.
 *
 * Guarantees
 * - `apply` is idempotent and order-tolerant: replays and reorderings end at each resource's highest version.
 * - `find` returns live resources that match the plan's predicate (search/evaluate.ts defines its meaning), in the plan's order, at most
 *   `limit`, strictly after `after`. It never finds deleted resources or those of other tenants.
 * - `groups` is exact: every match is in the group of each of its keys, none in another, and sizes count them all.
 * - Every later `find` sees the versions that `caughtUp` reported as visible.
 * - The index never interprets values: it compares keys by code point and numbers by value.
 */
import type { Freshness, GroupPlan, HitPosition, Matching, Plan, SearchSubject } from './plan.ts'

export type SortValues = { readonly low: string | number; readonly high: string | number }

/** Values that search/documents/extract.ts extracts from a version of a resource. The index can use them without any FHIR rule. */
export type IndexDocument = {
  readonly tenant: string
  readonly type: string
  readonly id: string
  readonly version: number
  /** Milliseconds since 1970, UTC. */
  readonly lastUpdated: number
  readonly deleted: boolean
  /** Values that are matched exactly, by prefix, by range or by containment; each at most 8,000 characters. */
  readonly keys: Readonly<Record<string, readonly string[]>>
  /** Half-open intervals, in milliseconds since 1970. */
  readonly spans: Readonly<Record<string, readonly (readonly [low: number, high: number])[]>>
  readonly numbers: Readonly<Record<string, readonly (readonly [low: number, high: number])[]>>
  readonly points: Readonly<Record<string, readonly (readonly [latitude: number, longitude: number])[]>>
  /** Values that must match together, in the same entry. */
  readonly tuples: Readonly<Record<string, readonly Tuple[]>>
  /** Keys of the groups that the resource belongs to, by grouping: `code:code`, `code:system`. */
  readonly groups: Readonly<Record<string, readonly string[]>>
  /** Sort values by parameter code: ascending by low, descending by high. */
  readonly order: Readonly<Record<string, SortValues>>
  /** Codes of the parameters that have a value. */
  readonly present: readonly string[]
  readonly compartments: readonly string[]
  /** Number of the parameter registry that the extraction used. */
  readonly registry: number
  /** The resource, for indices that store it so that a search needs no second read. */
  readonly body: Uint8Array
}

/** Intervals are half-open; those of numbers may be points. Labels contain no line break. */
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
  /** Absent if the index does not store bodies: read the version from the store. */
  readonly body?: Uint8Array
}

/** `lag`: acknowledged versions that the search did not cover. Present only if the plan permits that and the number is known. */
type Page = { readonly more: boolean; readonly lag?: number }

/**
 * `pulse`: milliseconds since 1970. The search covered everything acknowledged before it. Absent if the plan did not request it, or if it
 * is unknown.
 */
export type HitPage = Page & { readonly hits: readonly Hit[]; readonly total?: number; readonly pulse?: number }

/** `size`: number of matches in the group. `hits`: the first of them. */
export type HitGroup = { readonly key: string; readonly size: number; readonly hits: readonly Hit[] }

/** `total`: number of matches, whether they belong to a group or not. */
export type GroupPage = Page & { readonly groups: readonly HitGroup[]; readonly total: number }

/** Lookups in the index. */
export interface Searches {
  find(plan: Plan): Promise<HitPage>
  /** Returns distinct keys of a field among the matches, in no particular order, at most `limit` of them. */
  distinct(matching: Matching & Freshness, field: string, limit: number): Promise<readonly string[]>
  /** Returns the queries that `find` would send to the engine, in readable form. */
  explain(plan: Plan): Promise<readonly string[]>
  /** Throws the fault `too-many-groups` if there are more than 65,535 groups. */
  groups(plan: GroupPlan): Promise<GroupPage>
}

type SearchResult = HitPage | GroupPage | readonly string[]

/** Hooks of a decorator. `before` and `after` do not apply to `explain`, because it looks nothing up. */
export type SearchHooks = {
  /** Changes the plan of every lookup, also of one that is only explained. */
  readonly plan?: <Asked extends Freshness>(plan: Asked) => Asked
  /** Runs before every lookup. If it throws, the lookup does not run. */
  readonly before?: (subject: SearchSubject) => Promise<void>
  /** Gets the result of every lookup, and returns the one for the caller. */
  readonly after?: <Result extends SearchResult>(subject: SearchSubject, result: Result) => Promise<Result>
}

/** Wraps every lookup, so that no decorator can forget one. */
export function decorateSearches(searches: Searches, { plan = (asked) => asked, before, after }: SearchHooks): Searches {
  const lookUp = async <Result extends SearchResult>(subject: SearchSubject, look: () => Promise<Result>): Promise<Result> => {
    await before?.(subject)
    const result = await look()
    return after === undefined ? result : after(subject, result)
  }
  return {
    find(asked) {
      const planned = plan(asked)
      return lookUp(planned, () => searches.find(planned))
    },
    groups(asked) {
      const planned = plan(asked)
      return lookUp(planned, () => searches.groups(planned))
    },
    distinct(asked, field, limit) {
      const matching = plan(asked)
      return lookUp({ ...matching, field }, () => searches.distinct(matching, field, limit))
    },
    explain: (asked) => searches.explain(plan(asked)),
  }
}

export interface DocumentSink {
  apply(documents: readonly IndexDocument[]): Promise<void>
}

export interface IndexVisibility {
  /**
   * Waits until everything acknowledged before the call, or up to `tokens`, is visible. Returns false if it is not visible after `patience`
   * milliseconds. An index with its own time limit throws the fault `index-behind` or `too-costly` instead. `tenant`: the index may skip
   * waiting for other tenants.
   */
  caughtUp(tokens: readonly string[], patience: number, tenant?: string): Promise<boolean>
}

export interface OutdatedParameters {
  /** Returns the codes of the subject's parameters by which documents of another release may not be found. */
  outdated(subject: SearchSubject): Promise<readonly string[]>
}

/**
 * Index of an adapter. It has no OutdatedParameters, because their meaning is a rule of FHIR. Consumers take the part that they use.
 */
export interface SearchIndex extends Searches, DocumentSink, IndexVisibility {}
