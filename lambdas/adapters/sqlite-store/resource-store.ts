/** ResourceReader and ResourceWriter on SQLite. Reads run on the caller's thread, writes on the writer thread. */
import { timed } from '../../ports/execution/call-times.ts'
import { checkCommit } from '../../ports/store/commit-checks.ts'
import type {
  CommitResult,
  DamagedVersion,
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
  UniquenessGuard,
  VersionKey,
  Write,
} from '../../ports/store/resource-store.ts'
import type { SettledVersions } from '../../ports/store/settled-versions.ts'
import type { StoredTenants } from '../../ports/store/tenants.ts'
import { backupStoreFile } from './backup.ts'
import { KeyFilter } from './keys/key-filter.ts'
import { SqliteResourceReader } from './resource-reader.ts'
import { openForWriting, StoreFileError, toStoreFileError } from './schema.ts'
import { OpenStamps } from './writing/stamps.ts'
import { CommitWriter } from './writing/writer.ts'
import type { WriterData } from './writing/writer-thread.ts'

/** Number of positions that are not loaded, above which a commit loads recent keys, so that no later read has to load many. */
const MOST_UNKNOWN = 2_000

export type SqliteStoreOptions = WriterData & {
  /** Clock for the age of uniqueness guards, in milliseconds since 1970. Default: the newest lastUpdated of each commit. */
  readonly now?: () => number
  /** Called after each batch of commits, when the change feed may have new versions. */
  readonly onCommit?: () => void
}

export class SqliteResourceStore implements ResourceReader, ResourceWriter, SettledVersions, StoredTenants {
  readonly #file: string
  readonly #reader: SqliteResourceReader
  readonly #writer: CommitWriter
  /** Last position when the store was opened. */
  readonly #first: number
  /** Position at or after the last version of each tenant that committed since the store was opened. */
  readonly #lastOf = new Map<string, number>()
  readonly #stamps = new OpenStamps()

  private constructor({ onCommit, now, ...data }: SqliteStoreOptions) {
    const { file } = data
    // Creates the file and recovers its log before the first read.
    openForWriting(file).close()
    this.#file = file
    const old = new KeyFilter()
    this.#reader = new SqliteResourceReader(file, { acknowledged: () => this.#writer.position, old })
    try {
      this.#first = this.#reader.last()
      this.#writer = new CommitWriter({ data, position: this.#first, old, now, onCommit })
    } catch (error) {
      this.#reader.close()
      throw error
    }
  }

  /** Opens the store; `file` is created if missing. Throws StoreFileError if the file cannot be used as a store. */
  static async open(options: SqliteStoreOptions): Promise<SqliteResourceStore> {
    try {
      return new SqliteResourceStore(options)
    } catch (error) {
      throw named(toStoreFileError(error, options.file), options.file)
    }
  }

  current(keys: readonly ResourceKey[], room?: number): Promise<readonly (ResourceVersion | undefined)[]> {
    return this.#reader.current(keys, room)
  }

  heads(keys: readonly ResourceKey[], room?: number): Promise<readonly (ResourceVersion | DamagedVersion | undefined)[]> {
    return this.#reader.heads(keys, room)
  }

  versions(keys: readonly VersionKey[], room?: number): Promise<readonly (ResourceVersion | undefined)[]> {
    return this.#reader.versions(keys, room)
  }

  history(scope: HistoryScope, window: HistoryWindow, after: HistoryPosition | undefined, limit: number): Promise<HistoryPage> {
    return this.#reader.history(scope, window, after, limit)
  }

  scan(request: ScanRequest): AsyncGenerator<ScanPage> {
    return this.#reader.scan(request)
  }

  extent(request: Omit<ScanRequest, 'cursor' | 'limit'>, every: number): Promise<ScanExtent> {
    return this.#reader.extent(request, every)
  }

  tenants(): AsyncGenerator<string> {
    return this.#reader.tenants()
  }

  async commit(writes: readonly Write[], guards: readonly UniquenessGuard[]): Promise<CommitResult> {
    checkCommit(writes, guards)
    using begun = this.#stamps.begin(writes)
    if (begun === undefined) return { kind: 'late' }
    const result = await this.#committed(writes, guards)
    if (writes[0] !== undefined) this.#lastOf.set(writes[0].tenant, this.#writer.position)
    this.#reader.lookAhead(MOST_UNKNOWN)
    return result
  }

  /**
   * Rejects later commits with stamps up to the instant, for all tenants, so the tenant is ignored. Returns true if no commit in progress
   * has one.
   */
  async settled(_: string, instant: number): Promise<boolean> {
    return this.#stamps.settled(instant)
  }

  /**
   * Returns the position of the last acknowledged version. With `tenant`, returns a position at or after the tenant's last acknowledged
   * version.
   */
  lastPosition(tenant?: string): number {
    return tenant === undefined ? this.#writer.position : (this.#lastOf.get(tenant) ?? this.#first)
  }

  /** Returns how many of the next `most` versions after a position belong to the tenant. */
  countAfter(position: number, tenant: string, most: number): number {
    return this.#reader.countAfter(position, tenant, most)
  }

  /** Returns the newest valid lastUpdated of all versions, or 0 if there are none. */
  newest(): number {
    return this.#reader.newest()
  }

  /** Creates a consistent copy of the store at the path `file`. Reads and writes continue meanwhile. */
  async backup(file: string): Promise<void> {
    await backupStoreFile(this.#file, file)
  }

  async close(): Promise<void> {
    await this.#writer.close()
    this.#reader.close()
  }

  async #committed(writes: readonly Write[], guards: readonly UniquenessGuard[]): Promise<CommitResult> {
    try {
      const result = await timed('store', () => this.#writer.commit(writes, guards))
      if (result.kind !== 'committed') this.#reader.doubt()
      return result
    } catch (error) {
      this.#reader.doubt()
      throw error
    }
  }
}

/** Returns a StoreFileError with the file name for an error of SQLite, otherwise the error itself. */
function named(error: unknown, file: string): unknown {
  const { errcode, message } = error as { readonly errcode?: number; readonly message?: string }
  return errcode === undefined ? error : new StoreFileError(`${file} cannot be opened: ${message}`, { cause: error })
}
