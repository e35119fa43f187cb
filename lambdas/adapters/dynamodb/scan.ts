/**
 * The versions of a type that were current at an instant. Each stands in one place: as a head, or as a copy superseded since. A window
 * of heads is read first and the same window of copies after it: a version that moves in between is in both, never in neither.
 */
import type { ScanPage, ScanRequest, VersionKey } from '../../ports/resource-store.ts'
import type { Dynamo, Item } from './dynamo.ts'
import { keyOf } from './item.ts'
import type { Reader } from './reader.ts'
import { hashOf, INDEX, partition, type Shards } from './table.ts'

/** Where a scan goes on: the shard, and the sort position after which. */
type Cursor = readonly [shard: number, after: string]

export async function scanPage(dynamo: Dynamo, reader: Reader, shards: Shards, request: ScanRequest): Promise<ScanPage> {
  const { tenant, type, asOf, since = -1, cursor, limit, segment } = request
  const start = new Date(since + 1).toISOString()
  const [shard, after] = cursor === undefined ? ([0, start] as Cursor) : (JSON.parse(cursor) as Cursor)
  const end = `${new Date(asOf).toISOString()}#~`
  const heads = await rangeOf(dynamo, partition(tenant, type, 'c', shard), after, end, limit)
  const last = heads.length === limit ? afterSort(heads.at(-1)!) : end
  const copies = await rangeOf(dynamo, partition(tenant, type, 'h', shard), after, last, limit, ({ sup }) => Date.parse(String(sup)) > asOf)
  const found = [...new Map([...heads, ...copies].map((item) => [`${item.pk}#${item.vid}`, item])).values()].sort(bySort)
  const page = found.slice(0, limit)
  const keys = page.map(({ pk, vid }): VersionKey => ({ ...keyOf(pk), versionId: vid as number }))
  const versions = await reader.versions(keys.filter(({ id }) => hashOf(id) % segment.of === segment.index))
  const isFull = found.length > limit || heads.length === limit || copies.length === limit
  const next = nextOf(isFull ? afterSort(page.at(-1)!) : undefined, shard, shards(type), start)
  return {
    versions: versions.filter((version) => version !== undefined && !version.deleted) as ScanPage['versions'],
    ...(next === undefined ? {} : { cursor: JSON.stringify(next) }),
  }
}

/** Instant and id, without the version a copy has in addition. */
const sortOf = ({ gsk }: Item): string => String(gsk).split('#', 2).join('#')
/** After every item of that instant and id. */
const afterSort = (item: Item): string => `${sortOf(item)}#~`
const bySort = (a: Item, b: Item): number => (sortOf(a) < sortOf(b) ? -1 : sortOf(a) > sortOf(b) ? 1 : 0)

function nextOf(last: string | undefined, shard: number, shards: number, start: string): Cursor | undefined {
  if (last !== undefined) return [shard, last]
  return shard + 1 < shards ? [shard + 1, start] : undefined
}

async function rangeOf(
  dynamo: Dynamo,
  gpk: string,
  after: string,
  to: string,
  limit: number,
  counts = (_: Item): boolean => true,
): Promise<readonly Item[]> {
  const found: Item[] = []
  if (after > to) return found
  for await (const item of dynamo.query({
    IndexName: INDEX,
    KeyConditionExpression: 'gpk = :gpk AND gsk BETWEEN :after AND :to',
    ExpressionAttributeValues: { ':gpk': gpk, ':after': after, ':to': to },
    Limit: limit,
  })) {
    if (!counts(item)) continue
    found.push(item)
    if (found.length === limit) break
  }
  return found
}
