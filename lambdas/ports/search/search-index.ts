/**
 * Finds resources by plan.
 *
 * Guarantees
 * - `apply` may get versions repeatedly and in any order: the index ends with the highest version of each resource.
 * - `find` returns at most `limit` resources that match the predicate of the plan, in the order of the plan, beginning after `after`. It
 *   never finds deleted resources or those of other tenants. search/evaluate.ts defines the meaning of predicates.
 * - `groups` is exact: every match is in the group of each of its keys and in no other, and sizes count all matches.
 * - Every later `find` sees the versions that `caughtUp` reported as visible.
 * - The index never interprets values: it compares keys by code point and numbers by value.
 */
import type { Freshness, GroupPlan, HitPosition, Matching, Plan, SearchSubject } from './plan.ts'

/** Maximum fields of the index of a type. */
export const MAX_INDEX_FIELDS = 4_000

export type SortValues = { readonly low: string | number; readonly high: string | number }

/**
 * Values that search/documents/extract.ts extracts from a version of a resource, for an index that knows no FHIR rules. Records are by
 * field name.
 */
export type IndexDocument = {
  readonly tenant: string
  readonly type: string
  readonly id: string
  readonly version: number
  /** Time of the version in milliseconds since 1970. */
  readonly lastUpdated: number
  readonly deleted: boolean
  /** Texts that are matched exactly, by prefix, by range or by containment; each has at most 8,000 characters. */
  readonly keys: Readonly<Record<string, readonly string[]>>
  /** Time intervals in milliseconds since 1970, including `low` and excluding `high`. */
  readonly spans: Readonly<Record<string, readonly (readonly [low: number, high: number])[]>>
  readonly numbers: Readonly<Record<string, readonly (readonly [low: number, high: number])[]>>
  readonly points: Readonly<Record<string, readonly (readonly [latitude: number, longitude: number])[]>>
  /** Entries of several values that must match together. */
  readonly tuples: Readonly<Record<string, readonly Tuple[]>>
  /** Keys of the groups that the resource belongs to, by grouping, such as `code:code` or `code:system`. */
  readonly groups: Readonly<Record<string, readonly string[]>>
  /** Sort values by parameter code: `low` for ascending order, `high` for descending. */
  readonly order: Readonly<Record<string, SortValues>>
  /** Codes of the search parameters that have a value. */
  readonly present: readonly string[]
  readonly compartments: readonly string[]
  /** Number of the search parameter registry that the extraction used. */
  readonly registry: number
  /** JSON of the resource, for indexes that store it so that a search needs no read from the store. */
  readonly body: Uint8Array
}

/** Entry of `tuples`. Its intervals include `low` and exclude `high`; those of numbers may be points. Labels contain no line break. */
export type Tuple = {
  readonly key: string
  readonly labels: readonly string[]
  readonly ranges: readonly (readonly [low: number, high: number])[]
}

/** `tenant`: tenant of the resource. Absent: the tenant of the plan. Adapters never set it. */
export type Hit = {
  readonly tenant?: string
  readonly type: string
  readonly id: string
  readonly version: number
  readonly position: HitPosition
  /** JSON of the resource. Absent if the index does not store it: read the version from the store. */
  readonly body?: Uint8Array
}

/**
 * Part of every page. `more`: whether another page follows. `lag`: number of acknowledged versions that the search did not cover; only with
 * `eventual`, and absent if it is unknown.
 */
type Page = { readonly more: boolean; readonly lag?: number }

/**
 * Page of hits. `pulse`: the search covered everything acknowledged before this time, in milliseconds since 1970. It is absent if the plan
 * did not request it, or if it is unknown. `isCurrent`: the search covered every commit that had resolved when it began.
 */
export type HitPage = Page & { readonly hits: readonly Hit[]; readonly total?: number; readonly pulse?: number; readonly isCurrent?: true }

/** Group of hits. `size`: number of matches in the group. `hits`: the first of them. */
export type HitGroup = { readonly key: string; readonly size: number; readonly hits: readonly Hit[] }

/** Page of groups. `total`: number of matches, including those in no group. */
export type GroupPage = Page & { readonly groups: readonly HitGroup[]; readonly total: number }

/** Lookups that an index offers. */
export interface Searches {
  find(plan: Plan): Promise<HitPage>
  /** Returns distinct keys of a field that matches have, at most `limit`, in no particular order. */
  distinct(matching: Matching & Freshness, field: string, limit: number): Promise<readonly string[]>
  /** Returns the queries that `find` would send to the search engine, in readable form. */
  explain(plan: Plan): Promise<readonly string[]>
  /** Returns a page of groups. Throws the fault `too-many-groups` if the search has more than `MAX_GROUPS` groups. */
  groups(plan: GroupPlan): Promise<GroupPage>
}

type SearchResult = HitPage | GroupPage | readonly string[]

/** Hooks that `decorateSearches` adds to lookups. `before` and `after` are not called for `explain`, because it looks nothing up. */
export type SearchHooks = {
  /** Returns the plan to use instead of the given one, for every lookup and for `explain`. */
  readonly plan?: <Asked extends Freshness>(plan: Asked) => Asked
  /** Runs before every lookup in the index. If it throws, the lookup does not run. */
  readonly before?: (subject: SearchSubject) => Promise<void>
  /** Receives the result of every lookup, and returns the result for the caller. */
  readonly after?: <Result extends SearchResult>(subject: SearchSubject, result: Result) => Promise<Result>
}

/** Adds hooks to all lookups, so that no decorator can omit one. */
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
   * Waits until the versions that `tokens` identify are visible to searches. Without tokens, an index that knows which versions were
   * acknowledged waits for all of them. Returns false if that takes longer than `patience` milliseconds. An index with its own time limit
   * throws the fault `index-behind` or `too-costly` instead. `tenant`: the index may ignore versions of other tenants.
   */
  caughtUp(tokens: readonly string[], patience: number, tenant?: string): Promise<boolean>
}

export interface OutdatedParameters {
  /** Returns the codes of search parameters that the subject uses and that documents of another release may lack. */
  outdated(subject: SearchSubject): Promise<readonly string[]>
}

/**
 * Everything that an index adapter implements. OutdatedParameters is not part of it, because only FHIR rules determine outdated parameters.
 * Consumers require only the interfaces that they use.
 */
export interface SearchIndex extends Searches, DocumentSink, IndexVisibility {}
