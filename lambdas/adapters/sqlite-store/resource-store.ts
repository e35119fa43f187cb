/** ResourceReader and ResourceWriter on SQLite: reads on the caller's thread, writes on a thread of their own. */
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

/** Positions after which recent keys are looked at without being asked for, so that nobody who asks waits for many. */
const MOST_UNKNOWN = 2_000

export type SqliteStoreOptions = WriterData & {
  /** Milliseconds since 1970, by which guards grow old; absent: as the stamps of what is written. */
  readonly now?: () => number
  /** Told when versions were acknowledged: the change feed has more. */
  readonly onCommit?: () => void
}

export class SqliteResourceStore implements ResourceReader, ResourceWriter, SettledVersions, StoredTenants {
  readonly #file: string
  readonly #reader: SqliteResourceReader
  readonly #writer: CommitWriter
  /** Of the feed, when it was opened; and where the commits of each tenant ended since. */
  readonly #first: number
  readonly #lastOf = new Map<string, number>()
  readonly #stamps = new OpenStamps()

  private constructor({ onCommit, now, ...data }: SqliteStoreOptions) {
    const { file } = data
    // Makes the file and recovers its log before anybody reads.
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

  /** `file`: made when missing. StoreFileError where it is something else. */
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
    return this.#reader.countAfter(position, tenant, most)
  }

  /** The newest instant a version was stamped with; 0 when there is none. */
  newest(): number {
    return this.#reader.newest()
  }

  /** A consistent copy, while everything goes on. */
  async backup(file: string): Promise<void> {
    await backupStoreFile(this.#file, file)
  }

  async close(): Promise<void> {
    await this.#writer.close()
    this.#reader.close()
  }

  async #committed(writes: readonly Write[], guards: readonly UniquenessGuard[]): Promise<CommitResult> {
    try {
      const result = await this.#writer.commit(writes, guards)
      if (result.kind !== 'committed') this.#reader.doubt()
      return result
    } catch (error) {
      this.#reader.doubt()
      throw error
    }
  }
}

/** What SQLite says of a file that it cannot open, with the file. */
function named(error: unknown, file: string): unknown {
  const { errcode, message } = error as { readonly errcode?: number; readonly message?: string }
  return errcode === undefined ? error : new StoreFileError(`${file} cannot be opened: ${message}`, { cause: error })
}
