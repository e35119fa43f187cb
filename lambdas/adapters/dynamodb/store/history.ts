/**
 * Reads histories. That of one resource comes from its own items. That of a type or a tenant is merged from the partitions of the table's
 * index.
 */
import type { Clock } from '../../../ports/execution/clock.ts'
import type {
  HistoryPage,
  HistoryPosition,
  HistoryScope,
  HistoryWindow,
  ResourceKey,
  ResourceVersion,
} from '../../../ports/store/resource-store.ts'
import { openTransactions, readRecord } from '../commit/transaction-record.ts'
import type { TableClient } from '../table-client.ts'
import { indexSortKey, instantSortKey, sortKeyAfter } from '../table-keys.ts'
import { historyLag, MAX_INDEX_LAG_MS, REFUSED_WRITES_LAG_MS } from '../time-limits.ts'
import { type VersionContent, versionWithoutBody } from '../version-item.ts'
import { type FoundVersion, readEntries } from './entries-at.ts'
import { readGreatestLag, readLagBelow } from './index-lag.ts'
import type { IndexSource, SortKeyRange } from './index-windows.ts'
import { mergeSources } from './merged-sources.ts'
import type { VersionReader } from './reader.ts'
import type { TypeShards } from './type-shards.ts'

/** Bytes of bodies after which a page ends. The version that exceeds them is its last. */
export const MAX_PAGE_BYTES = 16_000_000

export class HistoryReader {
  readonly #dynamo: TableClient
  readonly #reader: VersionReader
  readonly #clock: Clock
  readonly #types: TypeShards

  constructor(dynamo: TableClient, reader: VersionReader, types: TypeShards, clock: Clock) {
    this.#dynamo = dynamo
    this.#reader = reader
    this.#clock = clock
    this.#types = types
  }

  async ofResource(key: ResourceKey, window: HistoryWindow, after: HistoryPosition | undefined, limit: number): Promise<HistoryPage> {
    const past = this.#reader.past(key, window, after?.versionId)
    return this.#pageOf(keyed(key, past), window, limit)
  }

  /**
   * Returns a page that shows no part of a large transaction. It ends before the oldest transaction that is committed but not settled. With
   * `since` it also ends before pending and recent timestamps, so that a client that polls misses no version. It reads again if a
   * transaction was decided during the read.
   */
  async ofTypes(scope: HistoryScope, window: HistoryWindow, after: HistoryPosition | undefined, limit: number): Promise<HistoryPage> {
    const limitsNow = async () =>
      this.#limits(
        scope.tenant,
        window,
        window.since === undefined ? 0 : await readLagBelow(REFUSED_WRITES_LAG_MS, this.#dynamo, this.#clock.now(), scope),
      )
    const [sources, first] = await Promise.all([this.#types.sources(scope.tenant, scope.type), limitsNow()])
    let limits = first
    for (;;) {
      const page = await this.#pageOf(this.#found(sources, { ...window, before: limits.end }, after, limit + 1), window, limit)
      const later = await limitsNow()
      const isWhole = later.end >= limits.end && limits.pending.every((id) => later.pending.includes(id))
      if (isWhole) return isShort(window, limits.end) ? { ...page, until: limits.end } : page
      limits = { end: Math.min(limits.end, later.end), pending: later.pending }
    }
  }

  /** Whether the history up to the instant is final: the index shows every version up to it, and no later commit can add one. */
  async settled(tenant: string, instant: number): Promise<boolean> {
    const lag = await readGreatestLag(this.#dynamo, this.#clock.now(), { tenant })
    // guard: settled-needs-the-instant
    return lag <= MAX_INDEX_LAG_MS && (await this.#limits(tenant, { since: 0 }, lag)).end > instant
  }

  /**
   * Returns the timestamp before which a history must end, and the ids of the pending transactions, of which the index shows nothing yet.
   * `lag`: index lag in milliseconds.
   */
  async #limits(
    tenant: string,
    { since, before = Number.MAX_SAFE_INTEGER }: HistoryWindow,
    lag: number,
  ): Promise<{ readonly end: number; readonly pending: readonly string[] }> {
    const open = await openTransactions(this.#dynamo, tenant)
    const records = await Promise.all(open.map(async (each) => ({ ...(await readRecord(this.#dynamo, each)), ...each })))
    const visible = since === undefined ? Number.MAX_SAFE_INTEGER : this.#clock.now() - historyLag(lag)
    // A client that polls with `since` never reads earlier timestamps again. So only then the history also ends before pending transactions
    // and those settled within the index lag.
    // guard: history-ends-before-unsettled-writes
    const inTheWay = records.filter(({ state, settled }) =>
      state === 'COMMITTED' ? settled === undefined || settled > visible : state === 'PENDING' && since !== undefined,
    )
    return {
      end: Math.min(before, visible, ...inTheWay.map(({ lu }) => lu)),
      pending: records.filter(({ state }) => state === 'PENDING').map(({ id }) => id),
    }
  }

  async *#found(
    sources: readonly IndexSource[],
    window: HistoryWindow & { readonly before: number },
    after: HistoryPosition | undefined,
    wanted: number,
  ): AsyncGenerator<FoundVersion> {
    const ranges = new Map(sources.map((source) => [source, rangeOf(source, window, after)]))
    for await (const entries of mergeSources(this.#dynamo, ranges, wanted))
      yield* readEntries(this.#reader, entries, window.currentAt, wanted)
  }

  /** Reads up to `limit` versions. The page ends early once its bodies exceed MAX_PAGE_BYTES. */
  async #pageOf(found: AsyncIterable<FoundVersion>, { placesOnly = false }: HistoryWindow, limit: number): Promise<HistoryPage> {
    const versions: ResourceVersion[] = []
    let weight = 0
    for await (const { key, content } of found) {
      if (versions.length === limit || weight > MAX_PAGE_BYTES) return { versions, more: true }
      const version = placesOnly ? versionWithoutBody(key, content) : await this.#reader.version(key, content)
      versions.push(version)
      weight += version.body.length
    }
    return { versions, more: false }
  }
}

async function* keyed(key: ResourceKey, contents: AsyncIterable<VersionContent>): AsyncGenerator<FoundVersion> {
  for await (const content of contents) yield { key: { ...key, versionId: content.vid }, content }
}

const isShort = ({ since, before = Number.MAX_SAFE_INTEGER }: HistoryWindow, end: number): boolean => since !== undefined && end < before

/**
 * Returns the range of a source that follows a position. At the timestamp of the position, earlier types are finished and later types have
 * not begun.
 */
function rangeOf(
  { type }: IndexSource,
  { since = 0, before }: HistoryWindow & { readonly before: number },
  after: HistoryPosition | undefined,
): SortKeyRange {
  const first = instantSortKey(before - 1)
  const to = sortKeyAfter(instantSortKey(since))
  if (after === undefined || after.lastUpdated >= before) return { from: first, to }
  const instant = instantSortKey(after.lastUpdated)
  if (type > after.type) return { from: instant, to }
  if (type < after.type) return { from: sortKeyAfter(instant), to }
  return { from: sortKeyAfter(indexSortKey(after.lastUpdated, after.id, after.versionId)), to }
}
