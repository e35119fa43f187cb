/**
 * Versions of resources. The store knows only keys, version numbers, times and bytes. The layers above implement HTTP semantics such as
 * 410, If-Match and conditional interactions.
 *
 * Guarantees
 * - Version numbers of a resource are 1, 2, 3 … without gaps, also after deletions. A deletion is a version without a body.
 * - `commit` stores all of 1 to 5,000 writes or none, even after a crash, and is durable when it resolves. Of concurrent commits that
 *   expect the same current version one succeeds, and the others get the conflict.
 * - A reader sees all of a commit that resolved before the read began, and never a part of one.
 * - Bodies have 0 bytes to 20 MB. They are returned byte for byte, or the call throws the fault `store-damaged`. Tenants never see each
 *   other's versions.
 */
import type { MachineFault } from '../faults.ts'

export type ResourceKey = { readonly tenant: string; readonly type: string; readonly id: string }
export type VersionKey = ResourceKey & { readonly versionId: number }

/** Write kinds that produce a version with a body. Stores persist positions in this list: only append to it. */
export const WRITE_KINDS = ['create', 'update-as-create', 'update', 'patch'] as const
export type WriteKind = (typeof WRITE_KINDS)[number]

export type ResourceVersion = VersionKey & {
  /** Time of the version in milliseconds since 1970. Each version of a resource has a later time than the previous one. */
  readonly lastUpdated: number
  readonly deleted: boolean
  /** Write kind of the version. Absent for deletions, and for versions from before this field existed. */
  readonly made?: WriteKind
  /** Compartments of the resource, as `Patient/1`. A deletion has those of the previous version. */
  readonly compartments: readonly string[]
  /** JSON of the resource as it is served, with id and meta. Empty for a deletion. */
  readonly body: Uint8Array
}

/** Version that cannot be read as it was written. `deleted`: also false if it is unknown whether it is a deletion. */
export type DamagedVersion = VersionKey & { readonly deleted: boolean; readonly damage: MachineFault }

/** Identifier as searches compare it. `system`: empty if the identifier has none. `value`: in lower case. */
export type Identifier = { readonly system: string; readonly value: string }

/** Write of the next version of a resource, whose versionId is `expected + 1`. */
export type Write = Omit<ResourceVersion, 'versionId'> & {
  /** versionId of the current version, 0 if there is none. Otherwise the commit is a conflict. */
  readonly expected: number
  /** Identifiers that the current version does not have. A deployment with IdentifierRows adds their rows before the commit. */
  readonly identifiers?: readonly Identifier[]
}

/**
 * Uniqueness guard: prevents that two commits with the same criteria both create a resource. A commit binds `guard` to `holder` if it is
 * free, or held by `holder` or `replaces`. If any other resource holds it, the result is `guarded`. A store may forget a guard an hour
 * after it was bound.
 */
export type UniquenessGuard = {
  readonly tenant: string
  readonly guard: string
  readonly holder: ResourceKey
  readonly replaces?: ResourceKey
}

/** Guard of a commit that another resource holds. `index`: index in the guards of the commit. */
export type HeldGuard = { readonly index: number; readonly holder: ResourceKey }

export type CommitResult =
  | { readonly kind: 'committed' }
  /** `writes[index]` expects a version that is not the current one. Nothing was written. */
  | { readonly kind: 'conflict'; readonly index: number }
  /** `guards[index]` is held by `holder`. `others`: further guards of the commit that are held. Nothing was written. */
  | (HeldGuard & { readonly kind: 'guarded'; readonly others?: readonly HeldGuard[] })
  /**
   * The stamp of a write is at or before a settled instant (settled-versions.ts). Nothing was written: commit again with the current time.
   */
  | { readonly kind: 'late' }

/** Versions that a history covers: those of one resource, of one type, or of a whole tenant. */
export type HistoryScope =
  | { readonly tenant: string; readonly type?: undefined; readonly id?: undefined }
  | { readonly tenant: string; readonly type: string; readonly id?: undefined }
  | ResourceKey

export type HistoryWindow = {
  /** Only versions with lastUpdated ≥ since. */
  readonly since?: number
  /** Only versions with lastUpdated < before. */
  readonly before?: number
  /** Omits versions that were superseded at or before this time. */
  readonly currentAt?: number
  /** Omits the content of versions: compartments and bodies are empty and `made` is absent. Damaged content then causes no error. */
  readonly placesOnly?: boolean
}

/**
 * Position of a version in a history. Histories are sorted by lastUpdated descending, then type and id ascending (code units), then
 * versionId descending.
 */
export type HistoryPosition = { readonly lastUpdated: number; readonly type: string; readonly id: string; readonly versionId: number }

/**
 * Page of a history. `more`: whether another page follows; false for a page without versions. `until`: only for a window with `since`. All
 * versions stamped before it are shown, and later ones may still be missing. Absent: the history is complete to the end of the window.
 */
export type HistoryPage = { readonly versions: readonly ResourceVersion[]; readonly more: boolean; readonly until?: number }

export type ScanRequest = {
  readonly tenant: string
  readonly type: string
  /** Selects of each resource the version with the highest lastUpdated ≤ asOf: its state at that time. */
  readonly asOf: number
  /** Then selects only versions with lastUpdated > since. */
  readonly since?: number
  /** Then selects only versions with lastUpdated ≤ until. */
  readonly until?: number
  /** Whether deletions are selected too, for resources that were deleted at `asOf`. */
  readonly deletions?: boolean
  /**
   * Whether pages report damaged versions. Otherwise the scan throws the fault `store-damaged`. It throws `store-damaged` in any case if it
   * cannot identify the damaged versions.
   */
  readonly tellsDamaged?: boolean
  /** Cursor of a page of the same scan. The scan continues after that page. */
  readonly cursor?: string
  /** Maximum versions of a page. */
  readonly limit: number
}

/**
 * Page of a scan. It may be empty, for example among deletions. `damaged`: damaged versions, if `tellsDamaged`. `cursor`: position after
 * this page; absent on the last page.
 */
export type ScanPage = {
  readonly versions: readonly ResourceVersion[]
  readonly damaged?: readonly DamagedVersion[]
  readonly cursor?: string
}

/**
 * Size of a scan. `entries`: approximate number of history entries that it reads. `cuts`: ascending times. Two consecutive ones, as `since`
 * and `until`, select a part with about the requested number of entries. `rest`: time down to which the scan is counted, if the count ended
 * early. The rest is the same scan with it as `until`.
 */
export type ScanExtent = { readonly entries: number; readonly cuts: readonly number[]; readonly rest?: number }

export interface ResourceReader {
  /**
   * Returns the current versions in the order of the keys. A resource that never existed is undefined, and a deleted one is a version with
   * `deleted: true`. `room`: bytes of bodies after which the result ends early, with the body that reaches them. It limits memory.
   */
  current(keys: readonly ResourceKey[], room?: number): Promise<readonly (ResourceVersion | undefined)[]>
  /**
   * Returns the current versions as `current` does, for callers that write afterwards. A damaged version is returned with the facts that
   * are known. Throws the fault `store-damaged` only if its version number is unknown.
   */
  heads(keys: readonly ResourceKey[], room?: number): Promise<readonly (ResourceVersion | DamagedVersion | undefined)[]>
  /** Returns these versions in the order of the keys, undefined for one that does not exist. `room`: as for `current`. */
  versions(keys: readonly VersionKey[], room?: number): Promise<readonly (ResourceVersion | undefined)[]>
  /**
   * Returns at most `limit` versions that come after `after` in the order of HistoryPosition. With `since`, late versions may be missing;
   * `until` of the page then bounds it. Throws the fault `writes-hidden` with `since` if the lag is too large to determine `until`.
   */
  history(scope: HistoryScope, window: HistoryWindow, after: HistoryPosition | undefined, limit: number): Promise<HistoryPage>
  /**
   * Yields the versions that were current at `asOf`, each resource at most once over all pages, in no particular order. `since` and `until`
   * can cut a scan into parts. The parts are disjoint, and together they read each history entry once.
   */
  scan(request: ScanRequest): AsyncIterable<ScanPage>
  /**
   * Returns the times at which to cut a scan into parts of about `every` history entries. The count may end early, once `isOver` returns
   * true. It then covers at least one instant.
   */
  extent(request: Omit<ScanRequest, 'cursor' | 'limit'>, every: number, isOver?: () => boolean): Promise<ScanExtent>
}

export interface ResourceWriter {
  /** Commits the writes. Throws RangeError unless all are for distinct resources of one tenant, and the guards are distinct. */
  commit(writes: readonly Write[], guards: readonly UniquenessGuard[]): Promise<CommitResult>
}
