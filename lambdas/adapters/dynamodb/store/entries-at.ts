/** Reads the versions to which index entries refer, optionally only those that were current at an instant. */
import type { VersionKey } from '../../../ports/store/resource-store.ts'
import type { VersionContent } from '../version-item.ts'
import type { IndexEntry } from './index-windows.ts'
import type { VersionReader } from './reader.ts'

export type FoundVersion<Key extends VersionKey = VersionKey> = { readonly key: Key; readonly content: VersionContent }

/**
 * Assumed maximum distance in milliseconds between the attribute `sup` of a copy and the timestamp of its successor. They differ if a
 * writer that lost a race to commit wrote the copy last.
 */
const MARGIN = 15 * 60 * 1000
/** Maximum items read at once. A version in an item has at most 180 KB, and a head item with a staged version has two. */
const MOST = 50

/**
 * Yields the versions in the order of the entries. `instant`: yields only versions that were current then. `wanted`: expected number of
 * versions that the caller takes per page; reads are cut to it.
 */
export async function* readEntries(
  reader: VersionReader,
  entries: readonly IndexEntry[],
  instant: number | undefined,
  wanted: number,
): AsyncGenerator<FoundVersion<IndexEntry>> {
  const candidates = entries.filter(({ isHead, sup }) => instant === undefined || isHead || sup === undefined || sup >= instant - MARGIN)
  const page = Math.max(1, wanted)
  let taken = 0
  for (let at = 0; at < candidates.length; ) {
    const some = candidates.slice(at, at + Math.min(MOST, page - (taken % page)))
    at += some.length
    for (const found of await foundOf(reader, some, instant)) {
      taken++
      yield found
    }
  }
}

/**
 * Returns the entries that exist, and with `instant` only those current then. A head that is unchanged since the index was read counts as
 * current. A copy counts if its `sup` is more than MARGIN after the instant. For all others the timestamp of the next version decides.
 */
async function foundOf(
  reader: VersionReader,
  entries: readonly IndexEntry[],
  instant: number | undefined,
): Promise<readonly FoundVersion<IndexEntry>[]> {
  const placed = await reader.placed(entries)
  const found = entries.flatMap((key, i) => (placed[i] === undefined ? [] : [{ key, ...placed[i] }]))
  if (instant === undefined) return found
  const unsure = found.filter(({ key, isHead }) => (key.isHead ? !isHead : key.sup === undefined || key.sup <= instant + MARGIN))
  const next = await reader.contents(unsure.map(({ key }) => ({ ...key, versionId: key.versionId + 1 })))
  const superseded = new Set(unsure.filter((_, i) => (next[i]?.lu ?? Number.POSITIVE_INFINITY) <= instant))
  return found.filter((each) => !superseded.has(each))
}
