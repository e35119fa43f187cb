/**
 * The index of a type, read in windows: what is current first, what is past after it. A version that moves from one to the other in between
 * is in both, never in neither.
 */
import { forEachInParallel } from '../../../ports/execution/parallel.ts'
import type { VersionKey } from '../../../ports/store/resource-store.ts'
import type { TableClient } from '../table-client.ts'
import { HEAD_SORT_KEY, INDEX_NAME, indexPartition, type PartitionKind, parseIndexSortKey } from '../table-keys.ts'

export type IndexSource = { readonly tenant: string; readonly type: string; readonly shard: number }

export type IndexEntry = VersionKey & {
  readonly lastUpdated: number
  readonly gsk: string
  /** A head, when it was read. */
  readonly isHead: boolean
  /** Of a copy: when its successor was stamped, or a writer that lost against it. */
  readonly sup?: number
}

/** Places of one source, both included. */
export type SortKeyRange = { readonly from: string; readonly to: string }

/** The first entries of a range, newest first, and whether these are all. */
export type SourceEntries = { readonly entries: readonly IndexEntry[]; readonly isAll: boolean }

export async function readSource(
  dynamo: TableClient,
  kind: PartitionKind,
  source: IndexSource,
  { from, to }: SortKeyRange,
  limit: number,
): Promise<SourceEntries> {
  const { tenant, type, shard } = source
  if (from > to) return { entries: [], isAll: true }
  const entries: IndexEntry[] = []
  for await (const { sk, gsk, sup } of dynamo.query({
    IndexName: INDEX_NAME,
    KeyConditionExpression: 'gpk = :gpk AND gsk BETWEEN :from AND :to',
    ExpressionAttributeValues: { ':gpk': indexPartition(tenant, type, kind, shard), ':from': from, ':to': to },
    Limit: limit,
  })) {
    const hint = sup === undefined ? {} : { sup: sup as number }
    entries.push({ tenant, type, ...parseIndexSortKey(gsk as string), gsk: gsk as string, isHead: sk === HEAD_SORT_KEY, ...hint })
    if (entries.length === limit) return { entries, isAll: false }
  }
  return { entries, isAll: true }
}

/** How many entries of a range there are, some after some, newest first; `last`: where those counted end, if more come. Nothing is handed over. */
export async function* countSource(
  dynamo: TableClient,
  kind: PartitionKind,
  { tenant, type, shard }: IndexSource,
  { from, to }: SortKeyRange,
  some: number,
): AsyncGenerator<{ readonly count: number; readonly last?: { readonly lastUpdated: number } }> {
  if (from > to) return
  for await (const { count, last } of dynamo.count({
    IndexName: INDEX_NAME,
    KeyConditionExpression: 'gpk = :gpk AND gsk BETWEEN :from AND :to',
    ExpressionAttributeValues: { ':gpk': indexPartition(tenant, type, kind, shard), ':from': from, ':to': to },
    Limit: some,
  }))
    yield { count, ...(last === undefined ? {} : { last: parseIndexSortKey(last.gsk as string) }) }
}

/** As `readSource`, of many sources at once. */
export async function readSources(
  dynamo: TableClient,
  kind: PartitionKind,
  ranges: ReadonlyMap<IndexSource, SortKeyRange>,
  limit: number,
): Promise<ReadonlyMap<IndexSource, SourceEntries>> {
  const found = new Map<IndexSource, SourceEntries>()
  await forEachInParallel([...ranges], WIDTH, async ([source, range]) => {
    found.set(source, await readSource(dynamo, kind, source, range, limit))
  })
  return found
}

const WIDTH = 32

/** Of a head and its copy the head: what the copy says of its successor may not have happened. */
export function distinctEntries(entries: readonly IndexEntry[]): readonly IndexEntry[] {
  const byVersion = new Map<string, IndexEntry>()
  for (const entry of entries) {
    const name = `${entry.type}/${entry.id}/${entry.versionId}`
    if (entry.isHead || !byVersion.has(name)) byVersion.set(name, entry)
  }
  return [...byVersion.values()]
}
