/** ResourceReader and ResourceWriter on SQLite: reads on the caller's thread, writes on a thread of their own. */
import type { DatabaseSync } from 'node:sqlite'
import { checkDistinct } from '../../ports/check-distinct.ts'
import type { KnownTenants } from '../../ports/known-tenants.ts'
import type {
  CommitResult,
  DamagedVersion,
  Guard,
  HistoryPage,
  HistoryPosition,
  HistoryScope,
  HistoryWindow,
  ResourceKey,
  ResourceReader,
  ResourceVersion,
  ResourceWriter,
  ScanExtent,
  ScanPage,
  ScanRequest,
  VersionKey,
  Write,
} from '../../ports/resource-store.ts'
import type { SettledVersions } from '../../ports/settled-versions.ts'
import { backupStoreFile } from './backup.ts'
import { reading } from './damage.ts'
import { KeyFilter } from './keys/key-filter.ts'
import { type RecentKeys, tellRecentKeys } from './keys/recent-keys.ts'
import { HistoryReader } from './reading/history.ts'
import { Scanner } from './reading/scan.ts'
import { tenantsOf } from './reading/tenants.ts'
import { VersionReader } from './reading/version-reader.ts'
import { inSnapshot, isThere } from './rows.ts'
import { openForReading, openForWriting, reasonOf, StoreFileError } from './schema.ts'
import { Stamps } from './writing/stamps.ts'
import { Writer } from './writing/writer.ts'
import type { WriterData } from './writing/writer-thread.ts'

/** Positions after which recent keys are looked at without being asked for, so that nobody who asks waits for many. */
const MOST_UNKNOWN = 2_000

const COUNT_AFTER = `SELECT count(*) AS count FROM (SELECT kind FROM version v WHERE v.seq > ? AND ${isThere('v')} ORDER BY v.seq LIMIT ?)
  WHERE kind IN (SELECT kind FROM kind WHERE tenant = ?)`

export type SqliteStoreOptions = WriterData & {
  /** Milliseconds since 1970, by which guards grow old; absent: as the stamps of what is written. */
  readonly now?: () => number
  /** Told when versions were acknowledged: the change feed has more. */
  readonly onCommit?: () => void
}

export class SqliteResourceStore implements ResourceReader, ResourceWriter, SettledVersions, KnownTenants {
  readonly #file: string
  readonly #db: DatabaseSync
  readonly #writer: Writer
  readonly #history: HistoryReader
  readonly #scanner: Scanner
  readonly #versions: VersionReader
  readonly #recent: RecentKeys
  readonly #after
  /** Of the feed, when it was opened; and where the commits of each tenant ended since. */
  readonly #first: number
  readonly #lastOf = new Map<string, number>()
  readonly #stamps = new Stamps()
  /** A commit failed, which may be there all the same: the writer may have ended before it could say so. */
  #isUnsure = false

  private constructor({ onCommit, now, ...data }: SqliteStoreOptions) {
    const { file } = data
    // Makes the file and recovers its log before anybody reads.
    openForWriting(file).close()
    this.#file = file
    this.#db = openForReading(file)
    try {
      this.#recent = tellRecentKeys(this.#db)
      this.#history = new HistoryReader(this.#db, this.#recent)
      this.#scanner = new Scanner(this.#db)
      const old = new KeyFilter()
      this.#versions = new VersionReader(this.#db, this.#recent, { old })
      const { seq } = this.#db.prepare('SELECT max(seq) AS seq FROM version').get() as { readonly seq: number | null }
      this.#first = seq ?? 0
      this.#writer = new Writer({ data, position: this.#first, old, now, onCommit })
      this.#after = this.#db.prepare(COUNT_AFTER)
    } catch (error) {
      this.#db.close()
      throw error
    }
  }

  /** `file`: made when missing. StoreFileError where it is something else. */
  static async open(options: SqliteStoreOptions): Promise<SqliteResourceStore> {
    try {
      return new SqliteResourceStore(options)
    } catch (error) {
      throw named(reasonOf(error, options.file), options.file)
    }
  }

  async current(keys: readonly ResourceKey[]): Promise<readonly (ResourceVersion | undefined)[]> {
    return this.#each(keys, (key) => this.#versions.head(key))
  }

  async heads(keys: readonly ResourceKey[]): Promise<readonly (ResourceVersion | DamagedVersion | undefined)[]> {
    return this.#each(keys, (key) => this.#versions.headOrDamage(key))
  }

  async versions(keys: readonly VersionKey[]): Promise<readonly (ResourceVersion | undefined)[]> {
    return this.#each(keys, (key) => this.#versions.version(key))
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

  async commit(writes: readonly Write[], guards: readonly Guard[]): Promise<CommitResult> {
    checkDistinct(writes, guards)
    using begun = this.#stamps.begin(writes)
    if (begun === undefined) return { kind: 'late' }
    const result = await this.#committed(writes, guards)
    if (writes[0] !== undefined) this.#lastOf.set(writes[0].tenant, this.#writer.position)
    this.#lookAtRecentKeys()
    return result
  }

  /** Of all tenants at once. */
  async settled(_: string, instant: number): Promise<boolean> {
    return this.#stamps.settled(instant)
  }

  /** The position of the last acknowledged version in the change feed; with a tenant, one no earlier than that of the tenant's last. */
  lastPosition(tenant?: string): number {
    return tenant === undefined ? this.#writer.position : (this.#lastOf.get(tenant) ?? this.#first)
  }

  /** How many of the next `most` versions after a position are the tenant's. */
  countAfter(position: number, tenant: string, most: number): number {
    return reading(() => (this.#after.get(position, most, tenant) as { readonly count: number }).count)
  }

  /** The newest instant a version was stamped with; 0 when there is none. */
  newest(): number {
    return this.#history.newest()
  }

  /** A consistent copy, while everything goes on. */
  async backup(file: string): Promise<void> {
    await backupStoreFile(this.#file, file)
  }

  async close(): Promise<void> {
    await this.#writer.close()
    if (this.#db.isOpen) this.#db.close()
  }

  #lookAtRecentKeys(): void {
    if (this.#writer.position - this.#recent.upTo <= MOST_UNKNOWN) return
    try {
      this.#recent.refresh(this.#writer.position)
    } catch {
      // A damaged file, for instance: the next reading tells. What was committed is.
    }
  }

  async #committed(writes: readonly Write[], guards: readonly Guard[]): Promise<CommitResult> {
    try {
      const result = await this.#writer.commit(writes, guards)
      this.#isUnsure ||= result.kind !== 'committed'
      return result
    } catch (error) {
      this.#isUnsure = true
      throw error
    }
  }

  /** One that is found needs no snapshot. Others may have been told of what is committed, but not acknowledged yet. */
  #each<Key, Found>(keys: readonly Key[], read: (key: Key) => Found | undefined): readonly (Found | undefined)[] {
    const isSure = !this.#isUnsure && this.#recent.upTo >= this.#writer.position
    const found = isSure && keys.length === 1 ? reading(() => read(keys[0]!)) : undefined
    return found === undefined ? this.#inSnapshot(() => keys.map(read)) : [found]
  }

  #inSnapshot<T>(read: () => T): T {
    return reading(() =>
      inSnapshot(this.#db, () => {
        this.#recent.refresh(this.#writer.position)
        this.#isUnsure = false
        return read()
      }),
    )
  }
}

/** What SQLite says of a file that it cannot open, with the file. */
function named(error: unknown, file: string): unknown {
  const { errcode, message } = error as { readonly errcode?: number; readonly message?: string }
  return errcode === undefined ? error : new StoreFileError(`${file} cannot be opened: ${message}`, { cause: error })
}
