/**
 * Reads the index of a type in windows: current versions (heads) first, superseded ones (copies) second. A commit writes the copy before it
 * changes the head. So a version that is superseded between the reads is in the second window, if the index shows the copy by then.
 */
import { forEachInParallel } from '../../../ports/execution/parallel.ts'
import type { VersionKey } from '../../../ports/store/resource-store.ts'
import type { TableClient } from '../table-client.ts'
import { HEAD_SORT_KEY, INDEX_NAME, indexPartition, type PartitionKind, parseIndexSortKey } from '../table-keys.ts'

export type IndexSource = { readonly tenant: string; readonly type: string; readonly shard: number }

export type IndexEntry = VersionKey & {
  readonly lastUpdated: number
  readonly gsk: string
  /** Whether the version was the current one, in a head item, when the index was read. */
  readonly isHead: boolean
  /** For a copy: timestamp of its successor, or of a writer that lost the race to commit one. */
  readonly sup?: number
}

/** Range of sort keys in an index partition. Includes both ends. */
export type SortKeyRange = { readonly from: string; readonly to: string }

/** `entries`: first entries of a range, newest first. `isAll`: whether the range has no others. */
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
 * Yields the number of entries of a range, newest first, in steps of at most `some`. `last`: timestamp at which a step ends, absent at the
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

/** Reads the entries of many index partitions in parallel, each like `readSource`. */
export async function readSources(
  dynamo: TableClient,
  kind: PartitionKind,
  ranges: ReadonlyMap<IndexSource, SortKeyRange>,
  limit: number,
): Promise<ReadonlyMap<IndexSource, SourceEntries>> {
  const found = new Map<IndexSource, SourceEntries>()
  await forEachInParallel([...ranges], PARALLEL_SOURCES, async ([source, range]) => {
    found.set(source, await readSource(dynamo, kind, source, range, limit))
  })
  return found
}

/** Maximum partitions of the index that are read at the same time. */
export const PARALLEL_SOURCES = 32

/**
 * Removes duplicate versions and prefers the entry of the head to that of its copy. A copy beside its head belongs to a commit that failed
 * or is in progress.
 */
export function distinctEntries(entries: readonly IndexEntry[]): readonly IndexEntry[] {
  const byVersion = new Map<string, IndexEntry>()
  for (const entry of entries) {
    const name = `${entry.type}/${entry.id}/${entry.versionId}`
    if (entry.isHead || !byVersion.has(name)) byVersion.set(name, entry)
  }
  return [...byVersion.values()]
}
