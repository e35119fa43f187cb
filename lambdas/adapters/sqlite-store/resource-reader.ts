/** ResourceReader on SQLite. Each instance has its own connection, so any thread can create one while another thread writes. */
import type { DatabaseSync } from 'node:sqlite'
import type {
  DamagedVersion,
  HistoryPage,
  HistoryPosition,
  HistoryScope,
  HistoryWindow,
  ResourceKey,
  ResourceReader,
  ResourceVersion,
  ScanExtent,
  ScanPage,
  ScanRequest,
  VersionKey,
} from '../../ports/store/resource-store.ts'
import type { StoredTenants } from '../../ports/store/tenants.ts'
import { runRead } from './damage.ts'
import type { KeyFilter } from './keys/key-filter.ts'
import { type RecentKeys, registerRecentKeys } from './keys/recent-keys.ts'
import { HistoryReader } from './reading/history.ts'
import { ScanReader } from './reading/scan.ts'
import { tenantsOf } from './reading/tenants.ts'
import { VersionReader } from './reading/version-reader.ts'
import { committedCondition, runInSnapshot } from './rows.ts'
import { openForReading } from './schema.ts'

const COUNT_AFTER = `SELECT count(*) AS count FROM (SELECT kind FROM version v WHERE v.seq > ? AND ${committedCondition('v')} ORDER BY v.seq LIMIT ?)
  WHERE kind IN (SELECT kind FROM kind WHERE tenant = ?)`

/** `acknowledged`: returns the last acknowledged position that this thread knows. `old`: filter of the key table. */
export type ResourceReaderOptions = { readonly acknowledged?: () => number; readonly old?: KeyFilter }

export class SqliteResourceReader implements ResourceReader, StoredTenants {
  readonly #db: DatabaseSync
  readonly #acknowledged: (() => number) | undefined
  readonly #history: HistoryReader
  readonly #scanner: ScanReader
  readonly #versions: VersionReader
  readonly #recent: RecentKeys
  readonly #after
  /**
   * Whether the acknowledged position may be too low, because a commit failed or was rejected. Even a failed commit may be stored if the
   * writer ended before its reply.
   */
  #isUnsure = false

  /** Opens the file, which must exist. A writer must have recovered its log before. */
  constructor(file: string, { acknowledged, old }: ResourceReaderOptions = {}) {
    this.#acknowledged = acknowledged
    this.#db = openForReading(file)
    try {
      this.#recent = registerRecentKeys(this.#db)
      this.#history = new HistoryReader(this.#db, this.#recent)
      this.#scanner = new ScanReader(this.#db, this.#recent)
      this.#versions = new VersionReader(this.#db, this.#recent, { ...(old === undefined ? {} : { old }) })
      this.#after = this.#db.prepare(COUNT_AFTER)
    } catch (error) {
      this.#db.close()
      throw error
    }
  }

  async current(keys: readonly ResourceKey[], room?: number): Promise<readonly (ResourceVersion | undefined)[]> {
    return this.#each(keys, (key) => this.#versions.head(key), room)
  }

  async heads(keys: readonly ResourceKey[], room?: number): Promise<readonly (ResourceVersion | DamagedVersion | undefined)[]> {
    return this.#each(keys, (key) => this.#versions.headOrDamage(key), room)
  }

  async versions(keys: readonly VersionKey[], room?: number): Promise<readonly (ResourceVersion | undefined)[]> {
    return this.#each(keys, (key) => this.#versions.version(key), room)
  }

  async history(scope: HistoryScope, window: HistoryWindow, after: HistoryPosition | undefined, limit: number): Promise<HistoryPage> {
    return this.#inSnapshot(() => this.#history.page(scope, window, after, limit))
  }

  async *scan(request: ScanRequest): AsyncGenerator<ScanPage> {
    let { cursor } = request
    do {
      const from = cursor
      const page = this.#inSnapshot(() => this.#scanner.page(request, from))
      yield page
      cursor = page.cursor
    } while (cursor !== undefined)
  }

  async extent(request: Omit<ScanRequest, 'cursor' | 'limit'>, every: number): Promise<ScanExtent> {
    return this.#inSnapshot(() => this.#scanner.extent(request, every))
  }

  async *tenants(): AsyncGenerator<string> {
    for (const tenant of tenantsOf(this.#db)) yield tenant
  }

  /** Returns how many of the next `most` versions after a position belong to the tenant. */
  countAfter(position: number, tenant: string, most: number): number {
    return runRead(() => (this.#after.get(position, most, tenant) as { readonly count: number }).count)
  }

  /** Returns the newest valid lastUpdated of all versions, or 0 if there are none. */
  newest(): number {
    return this.#history.newest()
  }

  /** Returns the position of the last version, or 0 if there is none. */
  last(): number {
    const { seq } = this.#db.prepare('SELECT max(seq) AS seq FROM version').get() as { readonly seq: number | null }
    return seq ?? 0
  }

  /**
   * Must be called after a commit that failed or was rejected. The next read then uses a snapshot, because the acknowledged position may be
   * too low.
   */
  doubt(): void {
    this.#isUnsure = true
  }

  /** Loads recent keys if more than `most` positions are not loaded, so that no later read has to load many. */
  lookAhead(most: number): void {
    const position = this.#acknowledged?.() ?? 0
    if (position - this.#recent.upTo <= most) return
    try {
      this.#recent.refresh(position)
    } catch {
      // The next read reports the failure, such as a damaged file. The commit itself succeeded.
    }
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close()
  }

  /**
   * Reads a single key without a snapshot if all acknowledged positions are loaded. If it is not found, reads again in a snapshot. A reader
   * without `acknowledged` always uses a snapshot: its callers may know of versions that are committed but not yet acknowledged.
   */
  #each<Key, Found extends ResourceVersion | DamagedVersion>(
    keys: readonly Key[],
    read: (key: Key) => Found | undefined,
    room = Number.POSITIVE_INFINITY,
  ): readonly (Found | undefined)[] {
    const isSure = this.#acknowledged !== undefined && !this.#isUnsure && this.#recent.upTo >= this.#acknowledged()
    const found = isSure && keys.length === 1 ? runRead(() => read(keys[0]!)) : undefined
    return found === undefined ? this.#inSnapshot(() => readWithin(room, keys, read)) : [found]
  }

  #inSnapshot<T>(read: () => T): T {
    return runRead(() =>
      runInSnapshot(this.#db, () => {
        this.#recent.refresh(this.#acknowledged?.())
        this.#isUnsure = false
        return read()
      }),
    )
  }
}

/**
 * Returns the versions of the keys, in their order. Stops after the body with which `room` bytes are reached, so the list may be shorter
 * than `keys`.
 */
function readWithin<Key, Found extends ResourceVersion | DamagedVersion>(
  room: number,
  keys: readonly Key[],
  read: (key: Key) => Found | undefined,
): readonly (Found | undefined)[] {
  const found: (Found | undefined)[] = []
  let left = room
  for (const key of keys) {
    if (left <= 0) break
    const version = read(key)
    found.push(version)
    if (version !== undefined && 'body' in version) left -= version.body.length
  }
  return found
}
