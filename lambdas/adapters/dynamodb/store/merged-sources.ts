/** Merges index partitions in the order of HistoryPosition. A history of a type has several, one of all types has hundreds. */
import type { HistoryPosition } from '../../../ports/store/resource-store.ts'
import type { TableClient } from '../table-client.ts'
import { sortKeyAfter } from '../table-keys.ts'
import { distinctEntries, type IndexEntry, type IndexSource, readSources, type SortKeyRange } from './index-windows.ts'

/** Entries of one partition that were read, in order. `unread`: range with possibly more entries, all after these. */
type ReadSource = { readonly entries: readonly IndexEntry[]; readonly unread?: SortKeyRange }
type ReadSources = ReadonlyMap<IndexSource, ReadSource>

/** Maximum entries of the first read over all partitions. Then a type of 32 partitions is read with one query each for 125 entries. */
const FIRST_READ = 4_000
/** Maximum entries of each later read over all partitions, unless more are wanted. A page without old versions may pass millions of copies. */
const LARGEST_READ = 40_000
/** Minimum entries of the first read of one partition. */
const SMALLEST_READ = 16

/** Yields the entries of all ranges in groups. The groups are in order, and so are the entries of each. `wanted`: expected number of entries. */
export async function* mergeSources(
  dynamo: TableClient,
  ranges: ReadonlyMap<IndexSource, SortKeyRange>,
  wanted: number,
): AsyncGenerator<readonly IndexEntry[]> {
  let size = Math.min(wanted, Math.max(SMALLEST_READ, Math.floor(FIRST_READ / Math.max(1, ranges.size))))
  let sources: ReadSources = await readRanges(dynamo, ranges, size)
  for (;;) {
    const end = endOf(sources)
    const entries = [...sources.values()].flatMap((source) => source.entries.filter((entry) => isWithin(entry, end)))
    yield distinctEntries(entries).toSorted(byPosition)
    if (end === undefined) return
    const left = [...sources].map(
      ([source, held]) => [source, { ...held, entries: held.entries.filter((entry) => !isWithin(entry, end)) }] as const,
    )
    // Partitions with entries in reserve are not read again. A partition that holds most recent versions is read in growing steps.
    const short = left.flatMap(([source, { entries, unread }]) =>
      unread !== undefined && entries.length <= size / 2 ? [[source, unread] as const] : [],
    )
    size = Math.max(wanted, Math.min(2 * size, Math.floor(LARGEST_READ / Math.max(1, short.length))))
    const more = await readRanges(dynamo, new Map(short), size)
    sources = new Map(left.map(([source, held]) => [source, joined(held, more.get(source))]))
  }
}

const joined = (held: ReadSource, more: ReadSource | undefined): ReadSource =>
  more === undefined ? held : { ...more, entries: [...held.entries, ...more.entries] }

/** Reads each range up to the position to which both its current and its superseded versions are complete. */
async function readRanges(dynamo: TableClient, ranges: ReadonlyMap<IndexSource, SortKeyRange>, limit: number): Promise<ReadSources> {
  const heads = await readSources(dynamo, 'c', ranges, limit)
  const past = await readSources(dynamo, 'h', ranges, limit)
  const read = [...ranges].map(([source, { to }]) => {
    const both = [heads.get(source)!, past.get(source)!]
    const ends = both.flatMap(({ entries, isAll }) => (isAll ? [] : [entries.at(-1)!.gsk]))
    const entries = both.flatMap((each) => each.entries).toSorted(byPosition)
    const [end] = ends.toSorted()
    if (end === undefined) return [source, { entries }] as const
    return [source, { entries: entries.filter(({ gsk }) => gsk <= end), unread: { from: sortKeyAfter(end), to } }] as const
  })
  return new Map(read)
}

/** Returns the position up to which all partitions are read, or undefined if they are read completely. */
function endOf(sources: ReadSources): HistoryPosition | undefined {
  const lasts = [...sources.values()].flatMap(({ entries, unread }) => (unread === undefined ? [] : [entries.at(-1)!]))
  return lasts.toSorted(byPosition)[0]
}

const isWithin = (entry: HistoryPosition, end: HistoryPosition | undefined): boolean => end === undefined || byPosition(entry, end) <= 0

const text = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Compares in the order of HistoryPosition: newest first, then by type, id and descending version. */
const byPosition = (a: HistoryPosition, b: HistoryPosition): number =>
  b.lastUpdated - a.lastUpdated || text(a.type, b.type) || text(a.id, b.id) || b.versionId - a.versionId
