/** Status of the index: custom search parameters, rebuilds, and versions that could not be indexed. */

/** `id`: id of the SearchParameter resource. `base`: one of its resource types. */
export type CustomParameterStatus = {
  readonly id: string
  readonly base: string
  readonly code: string
  readonly state: 'building' | 'active'
}

/**
 * `done`, `total`: documents of the tenant. `total` is the number when the rebuild began, or −1 until they are counted. If all tenants are
 * rebuilt together, `total` is 100 and `done` a percentage. `isSearched`: false if searches of the type are answered 503 until the rebuild
 * is done.
 */
export type RebuildStatus = { readonly type: string; readonly done: number; readonly total: number; readonly isSearched?: boolean }

/** A version, or a parameter of it, that extraction failed on. If the whole version failed, searches find it by its key only. */
export type UnindexableVersionStatus = { readonly type: string; readonly id: string; readonly versionId: number; readonly reason: string }

/** Returns the beginning of `reason` if a version lacks only the values of this parameter. */
export const failurePrefixOf = (code: string): string => `parameter ${code}: `

export type IndexStatus = {
  /**
   * Acknowledged versions of the tenant that were not searchable when the call began. The count stops at some thousands. Absent if the
   * deployment does not count them.
   */
  readonly lag?: number
  readonly definitions: readonly CustomParameterStatus[]
  readonly rebuilds: readonly RebuildStatus[]
  readonly unreadable: readonly UnindexableVersionStatus[]
}

export interface IndexProgress {
  /**
   * Returns the status of one tenant, without data of others. It covers everything acknowledged before the call. If the index follows the
   * store asynchronously, it covers the versions that the index has processed.
   */
  status(tenant: string): Promise<IndexStatus>
}

export interface Reindexer {
  /** Rebuilds the documents of these types from the beginning, while searches and writes continue. */
  start(tenant: string, types: readonly string[]): Promise<void>
}
