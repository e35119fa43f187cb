/**
 * Scans the versions of a type that were current at an instant, index partition by index partition, newest first. Each of them is in the
 * index once: as a head, or as a copy superseded after the instant. So a scan returns no resource twice.
 */
import type { DamagedVersion, ResourceVersion, ScanPage, ScanRequest } from '../../../ports/store/resource-store.ts'
import type { TableClient } from '../table-client.ts'
import { instantSortKey, sortKeyAfter } from '../table-keys.ts'
import { readEntries } from './entries-at.ts'
import { MAX_PAGE_BYTES } from './history.ts'
import { distinctEntries, type IndexEntry, type IndexSource, readSource, type SortKeyRange } from './index-windows.ts'
import type { VersionReader } from './reader.ts'
import type { TypeShards } from './type-shards.ts'

/** Maximum index entries per read. A scan holds as many of heads and as many of copies in memory, of about 200 bytes each. */
const ENTRIES = 20_000

/** Position of a scan: index partition, number of partitions when the scan began, and sort key at which it continues. */
type Cursor = readonly [shard: number, of: number, after: string]

export type ScanOptions = {
  readonly dynamo: TableClient
  readonly reader: VersionReader
  readonly types: TypeShards
  /** Waits until the index shows the copies of versions that were superseded since their heads were read. */
  readonly copiesShown: (source: IndexSource) => Promise<void>
}

export const sortKeyRangeOf = ({ asOf, since = -1, until = asOf }: Omit<ScanRequest, 'cursor' | 'limit'>): SortKeyRange => ({
  // guard: scan-ends-at-its-instant
  from: instantSortKey(Math.min(asOf, until)),
  to: sortKeyAfter(instantSortKey(since + 1)),
})

export async function* scanPages(options: ScanOptions, request: ScanRequest): AsyncGenerator<ScanPage> {
  const { tenant, type, asOf, cursor } = request
  const range = sortKeyRangeOf(request)
  const begin = async (): Promise<Cursor> => [0, (await options.types.sources(tenant, type)).length, range.from]
  const [first, of, from] = cursor === undefined ? await begin() : (JSON.parse(cursor) as Cursor)
  if (of === 0 || asOf < 0) return
  for (let shard = first; shard < of; shard++) {
    const start = shard === first ? from : range.from
    for await (const { after, ...page } of pagesOf(options, request, { tenant, type, shard }, { ...range, from: start })) {
      const next: Cursor | undefined = after !== undefined ? [shard, of, after] : shard + 1 < of ? [shard + 1, of, range.from] : undefined
      yield { ...page, ...(next === undefined ? {} : { cursor: JSON.stringify(next) }) }
    }
  }
}

/** `after`: sort key at which the next page continues. Absent at the end of the index partition. */
type SourcePage = Omit<ScanPage, 'cursor'> & { readonly after?: string }

async function* pagesOf(options: ScanOptions, request: ScanRequest, source: IndexSource, range: SortKeyRange): AsyncGenerator<SourcePage> {
  let from = range.from
  for (let size = Math.min(ENTRIES, 4 * request.limit); ; size = ENTRIES) {
    const { entries, end } = await window(options, source, { ...range, from }, size)
    for await (const { last, ...page } of read(options.reader, entries, request)) {
      const after = last === undefined ? end : sortKeyAfter(last.gsk)
      yield { ...page, ...(after === undefined ? {} : { after }) }
    }
    if (end === undefined) return
    from = end
  }
}

/**
 * Reads entries of heads and copies up to a common sort key, below which both are complete. `end`: that key, absent if the range is read
 * completely.
 */
async function window(
  { dynamo, copiesShown }: ScanOptions,
  source: IndexSource,
  range: SortKeyRange,
  size: number,
): Promise<{ readonly entries: readonly IndexEntry[]; readonly end?: string }> {
  const heads = await readSource(dynamo, 'c', source, range, size)
  await copiesShown(source)
  const to = heads.isAll ? range.to : sortKeyAfter(heads.entries.at(-1)!.gsk)
  const past = await readSource(dynamo, 'h', source, { ...range, to }, size)
  const end = past.isAll ? (heads.isAll ? undefined : to) : sortKeyAfter(past.entries.at(-1)!.gsk)
  const within = [...heads.entries, ...past.entries].filter(({ gsk }) => end === undefined || gsk < end)
  const entries = distinctEntries(within).toSorted((a, b) => (a.gsk < b.gsk ? -1 : 1))
  return { entries, ...(end === undefined ? {} : { end }) }
}

/** Yields pages of at most `limit` versions. `last`: last entry of a page after which the window has more entries. */
async function* read(
  reader: VersionReader,
  entries: readonly IndexEntry[],
  { asOf, deletions = false, tellsDamaged = false, limit }: ScanRequest,
): AsyncGenerator<Omit<ScanPage, 'cursor'> & { readonly last?: IndexEntry }> {
  let versions: ResourceVersion[] = []
  let damaged: DamagedVersion[] = []
  const found = () => (damaged.length === 0 ? { versions } : { versions, damaged })
  let weight = 0
  for await (const { key, content } of readEntries(reader, entries, asOf, limit)) {
    if (content.del === true && !deletions) continue
    const version = tellsDamaged ? await reader.versionOrDamage(key, content) : await reader.version(key, content)
    if ('damage' in version) damaged.push(version)
    else versions.push(version)
    weight += 'damage' in version ? 0 : version.body.length
    if ((versions.length + damaged.length < limit && weight <= MAX_PAGE_BYTES) || key === entries.at(-1)) continue
    yield { ...found(), last: key }
    ;[versions, damaged, weight] = [[], [], 0]
  }
  yield found()
}
