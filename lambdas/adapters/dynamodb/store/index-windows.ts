/**
 * Reads the index of a type in windows: current versions first, past versions second. A version that becomes past in between is in both
 * windows, never in neither.
 */
import { forEachInParallel } from '../../../ports/execution/parallel.ts'
import type { VersionKey } from '../../../ports/store/resource-store.ts'
import type { TableClient } from '../table-client.ts'
import { HEAD_SORT_KEY, INDEX_NAME, indexPartition, type PartitionKind, parseIndexSortKey } from '../table-keys.ts'

export type IndexSource = { readonly tenant: string; readonly type: string; readonly shard: number }

export type IndexEntry = VersionKey & {
  readonly lastUpdated: number
  readonly gsk: string
  /** Whether the entry was a head item when the index was read. */
  readonly isHead: boolean
  /** For a copy: the timestamp of its successor, or of a writer that lost the race to write it. */
  readonly sup?: number
}

/** Range of sort keys in one source, both ends included. */
export type SortKeyRange = { readonly from: string; readonly to: string }

/** First entries of a range, newest first, and whether these are all. */
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

/**
 * Counts the entries of a range in steps of `some`, newest first, without transferring them. `last`: last entry of a step, absent at the
 * end of the range.
 */
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

/** Reads many sources in parallel, each like `readSource`. */
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

/** Removes duplicate versions and prefers the head to its copy. The commit of the successor that the copy mentions may have failed. */
export function distinctEntries(entries: readonly IndexEntry[]): readonly IndexEntry[] {
  const byVersion = new Map<string, IndexEntry>()
  for (const entry of entries) {
    const name = `${entry.type}/${entry.id}/${entry.versionId}`
    if (entry.isHead || !byVersion.has(name)) byVersion.set(name, entry)
  }
  return [...byVersion.values()]
}
