/** The search parameters somebody defined, and the documents that are made again for them. */

/** `id`: of the SearchParameter resource; `base`: one of its types. */
export type CustomParameterStatus = {
  readonly id: string
  readonly base: string
  readonly code: string
  readonly state: 'building' | 'active'
}

/**
 * `total`: documents of the tenant when it began, 100 where all tenants' are made again together; −1: not counted yet. `isSearched`: false: until
 * it is done the type is 503 to searches.
 */
export type RebuildStatus = { readonly type: string; readonly done: number; readonly total: number; readonly isSearched?: boolean }

/** A version that could not be read for the index: it is found by its key alone. */
export type UnindexableVersionStatus = { readonly type: string; readonly id: string; readonly versionId: number; readonly reason: string }

/** How the reason begins why a version has no values of a parameter. */
export const failurePrefixOf = (code: string): string => `parameter ${code}: `

export type IndexStatus = {
  /** Acknowledged versions of the tenant that were not searchable when it was asked for, or some thousands of them; absent where nobody counts them. */
  readonly lag?: number
  readonly definitions: readonly CustomParameterStatus[]
  readonly rebuilds: readonly RebuildStatus[]
  readonly unreadable: readonly UnindexableVersionStatus[]
}

export interface IndexProgress {
  /** Of one tenant, and nothing of others. As of everything acknowledged before, or, where the index follows by itself, of everything it has come to. */
  status(tenant: string): Promise<IndexStatus>
}

export interface Reindexer {
  /** Makes the documents of these types again, from the beginning, while searches and writes go on. */
  start(tenant: string, types: readonly string[]): Promise<void>
}
