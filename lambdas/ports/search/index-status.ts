/** Status of the search index: custom parameters, rebuilds, versions that could not be indexed, and its health. */

/**
 * Custom parameter for one of its resource types, `base`. `id`: id of the SearchParameter resource. `building`: searches cannot use it yet.
 */
export type CustomParameterStatus = {
  readonly id: string
  readonly base: string
  readonly code: string
  readonly state: 'building' | 'active'
}

/**
 * Custom parameter of any tenant on one resource type (`base`). Parameters with the same `field` on a type share their index fields. `id`:
 * id of the SearchParameter resource. `state`: as in CustomParameterStatus.
 */
export type RegisteredParameter = {
  readonly tenant: string
  readonly id: string
  readonly mapping: { readonly base: string; readonly code: string; readonly type: string; readonly field: string }
  readonly state: CustomParameterStatus['state']
}

/**
 * Progress of a rebuild of one type. `done`, `total`: documents of the tenant. `total` is the number when the rebuild began, or −1 until
 * they are counted. If all tenants are rebuilt together, `total` is 100 and `done` a percentage. `isSearched`: false if searches of the
 * type are answered 503 until the rebuild is done.
 */
export type RebuildStatus = { readonly type: string; readonly done: number; readonly total: number; readonly isSearched?: boolean }

/**
/**
 * Version that extraction failed on, completely or for one parameter. `parameter`: code of the only parameter without values. If it is
 * absent, extraction failed completely, and searches find the version only by its type and id.
 */
export type UnindexableVersionStatus = {
  readonly type: string
  readonly id: string
  readonly versionId: number
  readonly reason: string
  readonly parameter?: string
}

/** Returns the beginning of the `reason` of a version that lacks only the values of this parameter. */
export const failurePrefixOf = (code: string): string => `parameter ${code}: `

/** Returns the code of the only parameter without values, or undefined if the whole version failed. */
export const failedParameterOf = (reason: string): string | undefined => /^parameter ([\w-]+): /.exec(reason)?.[1]

export type IndexStatus = {
  /**
   * Acknowledged versions of the tenant that were not searchable when the call began. Only the next 10,000 versions of all tenants are
   * counted. Absent if the deployment does not count them.
   */
  readonly lag?: number
  readonly definitions: readonly CustomParameterStatus[]
  readonly rebuilds: readonly RebuildStatus[]
  readonly unreadable: readonly UnindexableVersionStatus[]
  /**
   * Present if the change stream has too many partitions for a complete heartbeat, or they cannot be counted. Conditional interactions by
   * search are answered 503.
   */
  readonly uncovered?: true
  /**
   * Estimated hours until the running rebuilds of all tenants are complete, rounded up. Absent if the deployment does not estimate them. If the
   * index state has rows of tenants, those of other tenants do not count.
   */
  readonly hours?: number
}

/**
 * `isWorking`: whether the index follows the store and answers searches, even if it lags. `lag`: index lag in whole seconds. Embedded:
 * estimated time until searches find every acknowledged version. AWS: age of the latest heartbeat that all indices hold.
 */
export type IndexHealth = { readonly isWorking: boolean; readonly lag: number }

export interface IndexProgress {
  /**
   * Returns the status of one tenant, without data of others. If the index is only a little behind the store, the status covers everything
   * acknowledged before the call. Otherwise it covers the versions that the index has processed.
   */
  status(tenant: string): Promise<IndexStatus>
  /**
   * Returns the custom parameters of the tenant, and at least one for each field that those of other tenants use. The result is as recent
   * as `status(tenant)`.
   */
  parameters(tenant: string): Promise<readonly RegisteredParameter[]>
}

export interface Reindexer {
  /** Rebuilds the documents of these types from the beginning, while searches and writes continue. */
  start(tenant: string, types: readonly string[]): Promise<void>
}
