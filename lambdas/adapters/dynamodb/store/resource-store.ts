/** ResourceReader, RecentWrites and ResourceWriter on DynamoDB: one table, with large bodies in a blob store. */
import { setTimeout as wait } from 'node:timers/promises'
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import type { BlobStore } from '../../../ports/blobs/blob-store.ts'
import type { Clock } from '../../../ports/execution/clock.ts'
import { isFault } from '../../../ports/faults.ts'
import { checkCommit } from '../../../ports/store/commit-checks.ts'
import type { RecentWrites } from '../../../ports/store/recent-writes.ts'
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
} from '../../../ports/store/resource-store.ts'
import type { SettledVersions } from '../../../ports/store/settled-versions.ts'
import type { StoredTenants } from '../../../ports/store/tenants.ts'
import { commit } from '../commit/commit.ts'
import { settleTransaction, sweepTransactions } from '../commit/settle.ts'
import { type Deadline, NO_DEADLINE, TableClient } from '../table-client.ts'
import { MAX_INDEX_LAG_MS, MAX_STAMP_AGE_MS, visibilityDelay } from '../time-limits.ts'
import { HistoryReader } from './history.ts'
import { noteLag, readLagBelow, withRefusalNotes } from './index-lag.ts'
import type { IndexSource } from './index-windows.ts'
import { VersionReader } from './reader.ts'
import { readRecentHeads } from './recent-heads.ts'
import { type ScanOptions, scanPages } from './scan.ts'
import { scanExtent } from './scan-extent.ts'
import { Tenants } from './tenants.ts'
import { type ShardCounts, TypeShards } from './type-shards.ts'

export type DynamoDbStoreOptions = {
  /** Client that does not retry: the store knows which calls may be repeated. */
  readonly client: DynamoDBDocumentClient
  readonly table: string
  readonly blobs: BlobStore
  readonly clock: Clock
  readonly shards?: ShardCounts
  /** Maximum attempts of a call that DynamoDB rejects or does not answer. */
  readonly attempts?: number
  /** Maximum duration of one attempt of a call, in milliseconds. */
  readonly patience?: number
  /** Instant from which the store sends nothing more, even for operations that have begun. */
  readonly ends?: Deadline
  /** Maximum writes and guards of a commit in one TransactWriteItems, at most 100. Larger commits use a transaction record. */
  readonly mostActions?: number
  /** Time in milliseconds from the start of a commit with a transaction record, after which other processes may abort it. */
  readonly transactionTime?: number
  /**
   * Maximum age of a timestamp when its commit is sent, in milliseconds. A commit with an older timestamp throws the fault `overloaded` and
   * changes nothing.
   */
  readonly stampTime?: number
  /**
   * Minimum wait of a scan between the reads of current and of superseded versions, in milliseconds. With 0 a scan never waits, and may
   * miss versions that are superseded meanwhile.
   */
  readonly settleTime?: number
  readonly wait?: (time: number) => Promise<unknown>
}

const DEFAULTS = {
  ends: NO_DEADLINE,
  shards: () => 1,
  attempts: 10,
  patience: 2_000,
  mostActions: 100,
  transactionTime: 30_000,
  stampTime: MAX_STAMP_AGE_MS,
  settleTime: 2_000,
  wait: (time: number) => wait(time),
}

/**
 * Index lag in milliseconds from which reads of recent writes throw `writes-hidden` instead of waiting. A request has 29 s and may read
 * several types.
 */
const LONGEST_WAITED = 2_001

export class DynamoDbResourceStore implements ResourceReader, RecentWrites, ResourceWriter, SettledVersions, StoredTenants {
  readonly #dynamo: TableClient
  readonly #options: Required<DynamoDbStoreOptions>
  readonly #tenants: Tenants
  readonly #types: TypeShards
  readonly #reader: VersionReader
  readonly #history: HistoryReader

  constructor(options: DynamoDbStoreOptions) {
    this.#options = { ...DEFAULTS, ...options }
    const { client, table, blobs, clock, shards, ends } = this.#options
    const plain = new TableClient(client, table, this.#options, ends)
    const noting = withRefusalNotes(
      client,
      (...lag) => noteLag(plain, ...lag),
      () => clock.now(),
    )
    this.#dynamo = new TableClient(noting, table, this.#options, ends)
    this.#tenants = new Tenants(this.#dynamo)
    this.#types = new TypeShards(this.#dynamo, shards)
    this.#reader = new VersionReader(this.#dynamo, blobs, clock)
    this.#history = new HistoryReader(this.#dynamo, this.#reader, this.#types, clock)
  }

  async current(keys: readonly ResourceKey[], room?: number): Promise<readonly (ResourceVersion | undefined)[]> {
    return this.#reader.current(keys, room)
  }

  async heads(keys: readonly ResourceKey[], room?: number): Promise<readonly (ResourceVersion | DamagedVersion | undefined)[]> {
    return this.#reader.currentOrDamage(keys, room)
  }

  async versions(keys: readonly VersionKey[], room?: number): Promise<readonly (ResourceVersion | undefined)[]> {
    return this.#reader.versions(keys, room)
  }

  async history(scope: HistoryScope, window: HistoryWindow, after: HistoryPosition | undefined, limit: number): Promise<HistoryPage> {
    if (scope.id !== undefined) return this.#history.ofResource(scope, window, after, limit)
    return this.#history.ofTypes(scope, window, after, limit)
  }

  scan(request: ScanRequest): AsyncIterable<ScanPage> {
    return scanPages(this.#scanning(), request)
  }

  extent(request: Omit<ScanRequest, 'cursor' | 'limit'>, every: number, isOver?: () => boolean): Promise<ScanExtent> {
    const { clock, wait } = this.#options
    return scanExtent({ dynamo: this.#dynamo, types: this.#types, now: () => clock.now(), wait }, request, every, isOver)
  }

  #scanning(): ScanOptions {
    return { dynamo: this.#dynamo, reader: this.#reader, types: this.#types, copiesShown: (source) => this.#copiesShown(source) }
  }

  async #copiesShown(source: IndexSource): Promise<void> {
    const { clock, settleTime, wait } = this.#options
    if (settleTime === 0) return
    const lag = await readLagBelow(MAX_INDEX_LAG_MS + 1, this.#dynamo, clock.now(), source)
    await wait(Math.max(settleTime, visibilityDelay(lag)))
  }

  /**
   * Yields the current versions of a type written since an instant. It first waits as long as the noted index lag requires. Throws the
   * fault `writes-hidden` from LONGEST_WAITED.
   */
  recent(scope: { readonly tenant: string; readonly type: string }, since: number, most: number): AsyncIterable<ResourceVersion> {
    const writesShown = () => this.#writesShown(scope)
    return readRecentHeads({ dynamo: this.#dynamo, reader: this.#reader, types: this.#types, writesShown }, scope, since, most)
  }

  async #writesShown(scope: { readonly tenant: string; readonly type: string }): Promise<void> {
    const { clock, wait } = this.#options
    const lag = await readLagBelow(LONGEST_WAITED, this.#dynamo, clock.now(), scope)
    // guard: recent-writes-wait-for-the-index
    if (lag > 0) await wait(visibilityDelay(lag))
  }

  settled(tenant: string, instant: number): Promise<boolean> {
    return this.#history.settled(tenant, instant)
  }

  tenants(): AsyncIterable<string> {
    return this.#tenants.all()
  }

  async commit(writes: readonly Write[], guards: readonly UniquenessGuard[]): Promise<CommitResult> {
    checkCommit(writes, guards)
    await this.#types.register(writes, (tenant) => this.#tenants.register(tenant))
    return commit({ ...this.#options, dynamo: this.#dynamo }, writes, guards).catch(unsure)
  }

  /** Settles a transaction that is decided, or aborts it first if it is overdue. Returns false if it is still pending. */
  settleTransaction(tenant: string, id: string): Promise<boolean> {
    return settleTransaction(this.#dynamo, { tenant, id }, () => this.#options.clock.now())
  }

  /**
   * Settles the open transactions whose deadline has passed. Returns their number. Throws AggregateError, after trying all, if some could
   * not be settled.
   */
  sweep(): Promise<number> {
    return sweepTransactions(this.#dynamo, () => this.#options.clock.now())
  }
}

/**
 * Rethrows the error of a commit. `unavailable` of a read claims that nothing was done. The commit may have written before that read, so
 * its cause is thrown instead.
 */
function unsure(error: unknown): never {
  throw isFault(error, 'unavailable') ? error.cause : error
}
