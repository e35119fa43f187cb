/** ResourceReader, RecentWrites and ResourceWriter on DynamoDB: one table, large bodies in a blob store. */
import { setTimeout as wait } from 'node:timers/promises'
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import type { BlobStore } from '../../../ports/blobs/blob-store.ts'
import type { Clock } from '../../../ports/execution/clock.ts'
import { checkDistinct } from '../../../ports/store/commit-checks.ts'
import type { RecentWrites } from '../../../ports/store/recent-writes.ts'
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
} from '../../../ports/store/resource-store.ts'
import type { SettledVersions } from '../../../ports/store/settled-versions.ts'
import type { KnownTenants } from '../../../ports/store/tenants.ts'
import { commit } from '../commit/commit.ts'
import { settleTransaction, sweepTransactions } from '../commit/settle.ts'
import { Unanswered } from '../retry.ts'
import { Dynamo, type Ends, NEVER } from '../table-client.ts'
import { MOST_LAG, STAMP_TIME, shownAfter } from '../time-limits.ts'
import { sweepBodies, type Written } from './body-sweep.ts'
import { History } from './history.ts'
import { lagBelow, noteLag, notingRefusals } from './index-lag.ts'
import type { Source } from './index-windows.ts'
import { Reader } from './reader.ts'
import { recentHeads } from './recent-heads.ts'
import { type ScanOptions, scanExtent, scanPages } from './scan.ts'
import { Tenants } from './tenants.ts'
import { type Shards, Types } from './type-shards.ts'

export type DynamoDbStoreOptions = {
  /** Without retries of its own: the store knows which calls may be repeated. */
  readonly client: DynamoDBDocumentClient
  readonly table: string
  readonly blobs: BlobStore
  readonly clock: Clock
  readonly shards?: Shards
  /** How often a call is tried while it is refused or unanswered. */
  readonly attempts?: number
  /** What one try may take: ms. */
  readonly patience?: number
  /** From when on nothing is sent, of whatever was begun. */
  readonly ends?: Ends
  /** What a commit of more actions takes is decided by a record of its own. At most 100. */
  readonly mostActions?: number
  /** How long such a commit may take before others may abort it: ms. */
  readonly transactionTime?: number
  /** How long a stamp is sent: what was stamped before is not committed any more, and is Overloaded. */
  readonly stampTime?: number
  /** Minimum wait of a scan between current and past versions, in ms. 0: it never waits, and may miss concurrent writes. */
  readonly settleTime?: number
  readonly wait?: (time: number) => Promise<unknown>
}

const DEFAULTS = {
  ends: NEVER,
  shards: () => 1,
  attempts: 10,
  patience: 2_000,
  mostActions: 100,
  transactionTime: 30_000,
  stampTime: STAMP_TIME,
  settleTime: 2_000,
  wait: (time: number) => wait(time),
}

/** Lag of the index, in ms, from which the latest writes do not wait for it. A request has 29 s, and may look at several types. */
const LONGEST_WAITED = 2_001

export class DynamoDbResourceStore implements ResourceReader, RecentWrites, ResourceWriter, SettledVersions, KnownTenants {
  readonly #dynamo: Dynamo
  readonly #options: Required<DynamoDbStoreOptions>
  readonly #tenants: Tenants
  readonly #types: Types
  readonly #reader: Reader
  readonly #history: History

  constructor(options: DynamoDbStoreOptions) {
    this.#options = { ...DEFAULTS, ...options }
    const { client, table, blobs, clock, shards, ends } = this.#options
    const plain = new Dynamo(client, table, this.#options, ends)
    const noting = notingRefusals(
      client,
      (...lag) => noteLag(plain, ...lag),
      () => clock.now(),
    )
    this.#dynamo = new Dynamo(noting, table, this.#options, ends)
    this.#tenants = new Tenants(this.#dynamo)
    this.#types = new Types(this.#dynamo, shards)
    this.#reader = new Reader(this.#dynamo, blobs, clock)
    this.#history = new History(this.#dynamo, this.#reader, this.#types, clock)
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

  extent(request: Omit<ScanRequest, 'cursor' | 'limit'>, every: number): Promise<ScanExtent> {
    return scanExtent(this.#scanning(), request, every)
  }

  #scanning(): ScanOptions {
    return { dynamo: this.#dynamo, reader: this.#reader, types: this.#types, copiesShown: (source) => this.#copiesShown(source) }
  }

  async #copiesShown(source: Source): Promise<void> {
    const { clock, settleTime, wait } = this.#options
    if (settleTime === 0) return
    const lag = await lagBelow(MOST_LAG + 1, this.#dynamo, clock.now(), source)
    await wait(Math.max(settleTime, shownAfter(lag)))
  }

  /** A lag below a second, which is not noted, is not waited for. WritesHidden where the index lags for longer than a request can wait. */
  recent(scope: { readonly tenant: string; readonly type: string }, since: number, most: number): AsyncIterable<ResourceVersion> {
    const writesShown = () => this.#writesShown(scope)
    return recentHeads({ dynamo: this.#dynamo, reader: this.#reader, types: this.#types, writesShown }, scope, since, most)
  }

  async #writesShown(scope: { readonly tenant: string; readonly type: string }): Promise<void> {
    const { clock, wait } = this.#options
    const lag = await lagBelow(LONGEST_WAITED, this.#dynamo, clock.now(), scope)
    // guard: recent-writes-wait-for-the-index
    if (lag > 0) await wait(shownAfter(lag))
  }

  settled(tenant: string, instant: number): Promise<boolean> {
    return this.#history.settled(tenant, instant)
  }

  tenants(): AsyncIterable<string> {
    return this.#tenants.all()
  }

  async commit(writes: readonly Write[], guards: readonly Guard[]): Promise<CommitResult> {
    checkDistinct(writes, guards)
    await this.#tenants.register(writes)
    await this.#types.register(writes)
    return commit({ ...this.#options, dynamo: this.#dynamo }, writes, guards).catch(unsure)
  }

  /** Finishes a transaction that has been decided, or is overdue. False: it is still open. */
  settleTransaction(tenant: string, id: string): Promise<boolean> {
    return settleTransaction(this.#dynamo, { tenant, id }, () => this.#options.clock.now())
  }

  /** Removes large bodies no version names, of those written before the instant: ms since 1970. How many it removed. */
  sweepBodies(written: Written): Promise<number> {
    return sweepBodies(this.#dynamo, this.#options.blobs, written)
  }

  /** Takes up the transactions whose coordinator is gone. How many it settled. AggregateError, when all were tried, where some could not be. */
  sweep(): Promise<number> {
    return sweepTransactions(this.#dynamo, () => this.#options.clock.now())
  }
}

/** A reading of a commit that nobody answered may have come after a write. */
function unsure(error: unknown): never {
  throw error instanceof Unanswered ? error.cause : error
}
