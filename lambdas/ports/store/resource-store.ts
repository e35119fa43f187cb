/**
 * Resource versions. The store knows keys, version numbers, instants and opaque bytes; what "gone", "If-Match" or "conditional" mean
 * is decided above.
 *
 * Guarantees
 * - Version numbers of a resource are 1, 2, 3 … without gaps, over deletions too. A deletion is a version without a body.
 * - `commit` is all or nothing for 1 to 5,000 writes, durable when it resolves, and linearizable: of racing commits that expect the
 *   same head one wins, the others get the conflict. A crash leaves all of a commit or none.
 * - A reader sees a commit that resolved before the read began, and never a part of one.
 * - Bodies are 0 bytes to 20 MB and come back byte for byte, or what was asked is Damaged. Tenants never see each other's versions.
 */
import type { Damaged } from '../faults/damaged.ts'

export type ResourceKey = { readonly tenant: string; readonly type: string; readonly id: string }
export type VersionKey = ResourceKey & { readonly versionId: number }

/** How versions that have a body come about. Stores keep the place in this list: it only grows, at its end. */
export const WRITE_KINDS = ['create', 'update-as-create', 'update', 'patch'] as const
export type WriteKind = (typeof WRITE_KINDS)[number]

export type ResourceVersion = VersionKey & {
  /** Milliseconds since 1970, UTC; rises strictly from version to version of a resource. */
  readonly lastUpdated: number
  readonly deleted: boolean
  /** Absent of a deletion, and of a version that was written before it was kept. */
  readonly made?: WriteKind
  /** `Patient/1` …: the compartments the resource is in; a deletion carries those of the version before. */
  readonly compartments: readonly string[]
  /** The resource as it is served, id and meta included. Empty for a deletion. */
  readonly body: Uint8Array
}

/** A version that cannot be read as it was written. `deleted`: false where nobody knows. */
export type DamagedVersion = VersionKey & { readonly deleted: boolean; readonly damage: Damaged }

/** The next version of a resource: its versionId is `expected + 1`. */
export type Write = Omit<ResourceVersion, 'versionId'> & {
  /** The head's versionId, 0 where there is none. */
  readonly expected: number
}

/**
 * Serialises commits that stand for the same condition. A guard nobody holds, or held by `replaces`, is bound to `holder` by the
 * commit; one held by any other resource is a conflict. Guards may be forgotten an hour after they were bound.
 */
export type UniquenessGuard = {
  readonly tenant: string
  readonly guard: string
  readonly holder: ResourceKey
  readonly replaces?: ResourceKey
}

export type CommitResult =
  | { readonly kind: 'committed' }
  /** `writes[index]` expected another head. */
  | { readonly kind: 'conflict'; readonly index: number }
  /** `guards[index]` is held by `holder`. */
  | { readonly kind: 'guarded'; readonly index: number; readonly holder: ResourceKey }
  /** A write is stamped no later than an instant that was settled (settled-versions.ts): it wants a stamp of now. */
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
  /** What versions hold is not read: compartments and bodies come empty, nobody says how they were made, and none is Damaged for what it holds. */
  readonly placesOnly?: boolean
}

/** The place of a version in the order of a history: descending by lastUpdated, then ascending by type and id (code units), then descending by versionId. */
export type HistoryPosition = { readonly lastUpdated: number; readonly type: string; readonly id: string; readonly versionId: number }

/**
 * `more` only of a page that has versions. `until`, of a window with `since`: versions stamped from there on cannot be shown yet, or not all of
 * them; those before it are all shown. Absent: to the end of the window.
 */
export type HistoryPage = { readonly versions: readonly ResourceVersion[]; readonly more: boolean; readonly until?: number }

export type ScanRequest = {
  readonly tenant: string
  readonly type: string
  /** Each resource's version with the highest lastUpdated ≤ asOf. */
  readonly asOf: number
  /** Only versions with lastUpdated > since. */
  readonly since?: number
  /** Only versions with lastUpdated ≤ until. */
  readonly until?: number
  /** Resources that were deleted then, as well: a version that is a deletion. */
  readonly deletions?: boolean
  /** Versions that are damaged are told with their page; else it is Damaged. What hides which ones they are is Damaged all the same. */
  readonly tellsDamaged?: boolean
  /** Of a page of the same scan: goes on after it. */
  readonly cursor?: string
  /** Versions of a page at the most. */
  readonly limit: number
}

/** Where deletions stand a page may be empty. `damaged`: where they are told. `cursor`: what comes after this page; none: nothing does. */
export type ScanPage = {
  readonly versions: readonly ResourceVersion[]
  readonly damaged?: readonly DamagedVersion[]
  readonly cursor?: string
}

/** `entries`: about how many places a scan looks at. `cuts`: rising instants; between two, as `since` and `until`, are about as many places as asked for. */
export type ScanExtent = { readonly entries: number; readonly cuts: readonly number[] }

export interface ResourceReader {
  /**
   * The heads, in the order of the keys; undefined for a resource that never was; a deleted head comes back with `deleted: true`.
   * `room`: bytes of bodies. The answer ends with the body that uses them up, so that a page never holds all bodies of its keys.
   */
  current(keys: readonly ResourceKey[], room?: number): Promise<readonly (ResourceVersion | undefined)[]>
  /** As `current`, for who writes after them: one that is damaged is told as far as it is known, and is Damaged only where its number is not. */
  heads(keys: readonly ResourceKey[], room?: number): Promise<readonly (ResourceVersion | DamagedVersion | undefined)[]>
  /** Returns these versions, in the order of the keys. `room`: as for `current`. */
  versions(keys: readonly VersionKey[], room?: number): Promise<readonly (ResourceVersion | undefined)[]>
  /** At most `limit` versions strictly after `after` in the order of HistoryPosition. WritesHidden, of a window with `since`: versions may be missing from it. */
  history(scope: HistoryScope, window: HistoryWindow, after: HistoryPosition | undefined, limit: number): Promise<HistoryPage>
  /**
   * What was current at an instant, each resource at most once over all pages, in no promised order. Parts of one scan that are cut by `since` and
   * `until` are disjoint, and together look at each place once.
   */
  scan(request: ScanRequest): AsyncIterable<ScanPage>
  /** Of a scan, in parts of about `every` places. */
  extent(request: Omit<ScanRequest, 'cursor' | 'limit'>, every: number): Promise<ScanExtent>
}

export interface ResourceWriter {
  /** Writes name distinct resources of one tenant, guards distinct guards; else RangeError. */
  commit(writes: readonly Write[], guards: readonly UniquenessGuard[]): Promise<CommitResult>
}
