/**
 * Versions of resources. The store knows keys, version numbers, instants and opaque bytes. The layers above decide the meaning of "gone",
 * "If-Match" and "conditional".
 *
 * Guarantees
 * - Version numbers of a resource are 1, 2, 3 … without gaps, across deletions too. A deletion is a version without a body.
 * - `commit` is all or nothing for 1 to 5,000 writes, durable when it resolves, and linearizable: of racing commits that expect the same
 *   current version one wins, the others get the conflict. A crash leaves all of a commit or none.
 * - A reader sees a commit that resolved before the read began, and never a part of one.
 * - Bodies have 0 bytes to 20 MB and are returned byte for byte, or the call throws the fault `store-damaged`. Tenants never see each
 *   other's versions.
 */
import type { MachineFault } from '../faults.ts'

export type ResourceKey = { readonly tenant: string; readonly type: string; readonly id: string }
export type VersionKey = ResourceKey & { readonly versionId: number }

/** Write kinds that produce a version with a body. Stores persist the index in this list, so append only. */
export const WRITE_KINDS = ['create', 'update-as-create', 'update', 'patch'] as const
export type WriteKind = (typeof WRITE_KINDS)[number]

export type ResourceVersion = VersionKey & {
  /** Milliseconds since 1970, UTC; rises strictly from version to version of a resource. */
  readonly lastUpdated: number
  readonly deleted: boolean
  /** Absent for deletions, and for versions written before it was stored. */
  readonly made?: WriteKind
  /** `Patient/1` …: the compartments of the resource. A deletion carries those of the previous version. */
  readonly compartments: readonly string[]
  /** The resource as it is served, with id and meta. Empty for a deletion. */
  readonly body: Uint8Array
}

/** A version that cannot be read as it was written. `deleted`: false if that is unknown. */
export type DamagedVersion = VersionKey & { readonly deleted: boolean; readonly damage: MachineFault }

/** Next version of a resource: its versionId is `expected + 1`. */
export type Write = Omit<ResourceVersion, 'versionId'> & {
  /** versionId of the current version, 0 if there is none. */
  readonly expected: number
}

/**
 * Uniqueness guard: serialises commits with the same criteria. A commit binds a guard to `holder` if it is free, or held by `holder` or
 * `replaces`. If any other resource holds it, the result is `guarded`. Guards may be forgotten an hour after they were bound.
 */
export type UniquenessGuard = {
  readonly tenant: string
  readonly guard: string
  readonly holder: ResourceKey
  readonly replaces?: ResourceKey
}

export type CommitResult =
  | { readonly kind: 'committed' }
  /** `writes[index]` expected another current version. */
  | { readonly kind: 'conflict'; readonly index: number }
  /** `guards[index]` is held by `holder`. */
  | { readonly kind: 'guarded'; readonly index: number; readonly holder: ResourceKey }
  /** The stamp of a write is not later than an instant that is settled (settled-versions.ts): stamp it with the current time. */
  | { readonly kind: 'late' }

/** One resource, one type, or everything of a tenant. */
export type HistoryScope =
  | { readonly tenant: string; readonly type?: undefined; readonly id?: undefined }
  | { readonly tenant: string; readonly type: string; readonly id?: undefined }
  | ResourceKey

export type HistoryWindow = {
  /** Only versions with lastUpdated ≥ since. */
  readonly since?: number
  /** Only versions with lastUpdated < before. */
  readonly before?: number
  /** Leaves out versions that were superseded at or before this instant. */
  readonly currentAt?: number
  /** Does not read the content of versions: compartments and bodies are empty, `made` is absent, and damaged content causes no error. */
  readonly placesOnly?: boolean
}

/**
 * Position of a version in the order of a history: descending by lastUpdated, then ascending by type and id (code units), then descending
 * by versionId.
 */
export type HistoryPosition = { readonly lastUpdated: number; readonly type: string; readonly id: string; readonly versionId: number }

/**
 * `more`: true only for a page that has versions. `until`, for a window with `since`: versions stamped at or after it may be missing from
 * the history for now. All earlier ones are shown. Absent: the history is complete to the end of the window.
 */
export type HistoryPage = { readonly versions: readonly ResourceVersion[]; readonly more: boolean; readonly until?: number }

export type ScanRequest = {
  readonly tenant: string
  readonly type: string
  /** Selects each resource's version with the highest lastUpdated ≤ asOf. */
  readonly asOf: number
  /** Only versions with lastUpdated > since. */
  readonly since?: number
  /** Only versions with lastUpdated ≤ until. */
  readonly until?: number
  /** Also selects resources that were deleted then: the version is the deletion. */
  readonly deletions?: boolean
  /**
   * Reports damaged versions with their page; otherwise the scan throws the fault `store-damaged`. It throws `store-damaged` in any case if
   * it cannot identify the damaged versions.
   */
  readonly tellsDamaged?: boolean
  /** Cursor of a page of the same scan: continues after that page. */
  readonly cursor?: string
  /** Maximum versions of a page. */
  readonly limit: number
}

/**
 * A page may be empty, for example among deletions. `damaged`: reported damaged versions. `cursor`: continues after this page; absent on
 * the last page.
 */
export type ScanPage = {
  readonly versions: readonly ResourceVersion[]
  readonly damaged?: readonly DamagedVersion[]
  readonly cursor?: string
}

/**
 * `entries`: approximate number of history entries that a scan reads. `cuts`: rising instants. Two consecutive ones, as `since` and
 * `until`, enclose about the requested number of entries.
 */
export type ScanExtent = { readonly entries: number; readonly cuts: readonly number[] }

export interface ResourceReader {
  /**
   * Returns the current versions in the order of the keys: undefined for a resource that never existed, a version with `deleted: true` for
   * a deleted one. `room`: maximum bytes of bodies. The result ends early, after the body that uses them up, so that a page never holds all
   * bodies of its keys.
   */
  current(keys: readonly ResourceKey[], room?: number): Promise<readonly (ResourceVersion | undefined)[]>
  /**
   * Like `current`, for callers that write afterwards: a damaged version is returned with the facts that are known. Throws the fault
   * `store-damaged` only if its version number is unknown.
   */
  heads(keys: readonly ResourceKey[], room?: number): Promise<readonly (ResourceVersion | DamagedVersion | undefined)[]>
  /** Returns these versions, in the order of the keys. `room`: as for `current`. */
  versions(keys: readonly VersionKey[], room?: number): Promise<readonly (ResourceVersion | undefined)[]>
  /**
   * Returns at most `limit` versions strictly after `after`, in the order of HistoryPosition. Throws the fault `writes-hidden` for a window
   * with `since` if versions may be missing from it.
   */
  history(scope: HistoryScope, window: HistoryWindow, after: HistoryPosition | undefined, limit: number): Promise<HistoryPage>
  /**
   * Yields the versions that were current at an instant, each resource at most once over all pages, in no particular order. Parts of one
   * scan that are cut by `since` and `until` are disjoint. Together they read each history entry once.
   */
  scan(request: ScanRequest): AsyncIterable<ScanPage>
  /** Divides a scan into parts of about `every` history entries. */
  extent(request: Omit<ScanRequest, 'cursor' | 'limit'>, every: number): Promise<ScanExtent>
}

export interface ResourceWriter {
  /** Commits the writes. Throws RangeError unless all are for distinct resources of one tenant, and the guards are distinct. */
  commit(writes: readonly Write[], guards: readonly UniquenessGuard[]): Promise<CommitResult>
}
