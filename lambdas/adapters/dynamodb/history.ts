/** Histories of types and tenants, merged from the partitions of the index; the history of one resource, from its own items. */
import type { HistoryPage, HistoryPosition, HistoryScope, HistoryWindow, ResourceVersion, VersionKey } from '../../ports/resource-store.ts'
import type { Dynamo } from './dynamo.ts'
import { keyOf } from './item.ts'
import type { Reader } from './reader.ts'
import { INDEX, partition, type Shards } from './table.ts'

type Entry = VersionKey & { readonly lu: string; readonly sup?: string }

export class History {
  readonly #dynamo: Dynamo
  readonly #reader: Reader
  readonly #shards: Shards

  constructor(dynamo: Dynamo, reader: Reader, shards: Shards) {
    this.#dynamo = dynamo
    this.#reader = reader
    this.#shards = shards
  }

  async page(
    scope: HistoryScope,
    window: HistoryWindow,
    after: HistoryPosition | undefined,
    limit: number,
    types: readonly string[],
  ): Promise<HistoryPage> {
    const found =
      scope.id === undefined
        ? await this.#ofTypes(scope.tenant, types, window, after, limit + 1)
        : await this.#ofResource(scope, window, after)
    return { versions: found.slice(0, limit), more: found.length > limit }
  }

  async #ofResource(
    key: VersionKey | Extract<HistoryScope, { id: string }>,
    { since = 0, before = Number.POSITIVE_INFINITY, currentAt }: HistoryWindow,
    after: HistoryPosition | undefined,
  ): Promise<readonly ResourceVersion[]> {
    const versions = await this.#reader.all(key)
    return versions.filter(({ versionId, lastUpdated }, i) => {
      const successor = versions[i - 1]
      const wasSuperseded = currentAt !== undefined && successor !== undefined && successor.lastUpdated <= currentAt
      return lastUpdated >= since && lastUpdated < before && !wasSuperseded && (after === undefined || versionId < after.versionId)
    })
  }

  async #ofTypes(
    tenant: string,
    types: readonly string[],
    window: HistoryWindow,
    after: HistoryPosition | undefined,
    wanted: number,
  ): Promise<readonly ResourceVersion[]> {
    // Heads before copies: a version on its way from one to the other is in both, never in neither.
    const current = types.flatMap((type) => this.#partitions(tenant, type, 'c'))
    const superseded = types.flatMap((type) => this.#partitions(tenant, type, 'h'))
    const entries: Entry[] = []
    for (const name of [...current, ...superseded]) entries.push(...(await this.#entries(name, window, after, wanted)))
    const distinct = [...new Map(entries.map((entry) => [`${entry.type}/${entry.id}/${entry.versionId}`, entry])).values()]
      .sort(newestFirst)
      .slice(0, wanted)
    const versions = await this.#reader.versions(distinct)
    return versions.filter((version) => version !== undefined)
  }

  #partitions(tenant: string, type: string, kind: 'c' | 'h'): readonly string[] {
    return Array.from({ length: this.#shards(type) }, (_, shard) => partition(tenant, type, kind, shard))
  }

  /** The first `wanted` of a partition, and all that share the last one's instant. */
  async #entries(
    gpk: string,
    { since = 0, before, currentAt }: HistoryWindow,
    after: HistoryPosition | undefined,
    wanted: number,
  ): Promise<readonly Entry[]> {
    const to = Math.min(before === undefined ? LATEST : before - 1, after === undefined ? LATEST : after.lastUpdated)
    if (to < since) return []
    const found: Entry[] = []
    for await (const { pk, vid, gsk, sup } of this.#dynamo.query({
      IndexName: INDEX,
      KeyConditionExpression: 'gpk = :gpk AND gsk BETWEEN :from AND :to',
      ExpressionAttributeValues: { ':gpk': gpk, ':from': instant(since), ':to': `${instant(to)}#~` },
      ScanIndexForward: false,
      Limit: wanted + 1,
    })) {
      const entry: Entry = {
        ...keyOf(pk),
        versionId: vid as number,
        lu: String(gsk).split('#')[0]!,
        ...(sup === undefined ? {} : { sup: String(sup) }),
      }
      if (currentAt !== undefined && entry.sup !== undefined && Date.parse(entry.sup) <= currentAt) continue
      if (after !== undefined && compare(entry, { ...after, tenant: '', lu: instant(after.lastUpdated) }) <= 0) continue
      if (found.length >= wanted && entry.lu !== found.at(-1)!.lu) break
      found.push(entry)
    }
    return found
  }
}

const LATEST = 8_640_000_000_000_000 - 1
const instant = (ms: number): string => new Date(Math.min(ms, Date.parse('9999-12-31T23:59:59.999Z'))).toISOString()

const text = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** The order of HistoryPosition. */
const compare = (a: Entry, b: Entry): number => text(b.lu, a.lu) || text(a.type, b.type) || text(a.id, b.id) || b.versionId - a.versionId
const newestFirst = compare
