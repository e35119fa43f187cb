/** The search parameters somebody defined, and the documents that are made again for them. */

/** `id`: of the SearchParameter resource; `base`: one of its types. */
export type Definition = { readonly id: string; readonly base: string; readonly code: string; readonly state: 'building' | 'active' }

/** `total`: documents when it began; −1: not counted yet. */
export type Rebuilding = { readonly type: string; readonly done: number; readonly total: number }

/** A version that could not be read for the index: it is found by its key alone. */
export type Unreadable = { readonly type: string; readonly id: string; readonly versionId: number; readonly reason: string }

export type ReindexStatus = {
  /** Acknowledged versions that were not searchable when it was asked for. */
  readonly lag: number
  readonly definitions: readonly Definition[]
  readonly rebuilds: readonly Rebuilding[]
  readonly unreadable: readonly Unreadable[]
}

export interface Reindex {
  /** As of everything acknowledged before. */
  status(tenant: string): Promise<ReindexStatus>
  /** Makes the documents of these types again, from the beginning, while searches and writes go on. */
  start(tenant: string, types: readonly string[]): void
}
