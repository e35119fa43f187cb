/** Feeds an index from the versions of a store, in order, each exactly as often as needed. */
import { parseJsonBytes } from '../fhir/json.ts'
import type { Resource } from '../fhir/resource.ts'
import type { Change, ChangeFeed } from '../ports/change-feed.ts'
import { failureOf } from '../ports/reindex.ts'
import type { ResourceVersion } from '../ports/resource-store.ts'
import type { IndexDocument } from '../ports/search-index.ts'
import { extract } from '../search/extract.ts'
import type { Reading, ReadingOf } from '../search/reading.ts'
import { isAheadNeeded, NOTHING_READ, type ReadAhead } from './read-ahead.ts'

/** An index that keeps the position it follows the feed to, in one transaction with its documents. */
export type FollowingIndex = {
  readonly applyNow: (documents: readonly IndexDocument[]) => void
  /** Steps towards a commit come before more documents. */
  readonly isFull: boolean
  /** A step towards a commit that takes less time; true when the last is done. */
  readonly prepareCommit: () => boolean
  readonly commit: () => void
  readonly note: (name: string) => string | number | undefined
  readonly setNote: (name: string, value: string | number) => void
}

/** Told of a version that could not be extracted: it is indexed by its key alone, or without the parameter that is Unevaluated. */
export type OnPoison = (version: ResourceVersion, error: unknown) => void

/** A parameter somebody defined has no values of a version, for its expression failed. */
export class Unevaluated extends Error {
  override readonly name: string

  constructor(code: string, { cause }: { readonly cause: unknown }) {
    super('', { cause })
    this.name = `${failureOf(code)}${cause instanceof Error ? cause.name : typeof cause}`
  }
}

/** `ahead`: the versions after the position, where they were read already. */
export type Following = {
  readonly limit: number
  readonly ahead?: { readonly changes: readonly Change[]; readonly read: ReadAhead } | undefined
  readonly reading: ReadingOf
  readonly onPoison: OnPoison
  /** Told of each version before it is read: what that changes about `reading` counts for it already, if nothing is to be evaluated before. */
  readonly onVersion?: (version: ResourceVersion) => void
}

export const positionOf = (index: FollowingIndex): number => Number(index.note('position') ?? 0)

/** Few, so that they are gone when memory is next swept: what lives then is copied. */
const AT_ONCE = 16
/** Bytes of resources whose documents are in memory at once, about: a document may be ten times as large. */
const HEAVY = 1_000_000

/** Indexes up to `limit` versions after `position`; the position it came to: no further than to where something is to be evaluated before, or the index is full. */
export function indexChanges(
  feed: ChangeFeed,
  index: FollowingIndex,
  position: number,
  { limit, ahead, reading, onPoison, onVersion }: Following,
): number {
  const documents: IndexDocument[] = []
  let reached = position
  let weight = 0
  const { changes, read } = ahead ?? { changes: feed.changes(position, limit), read: NOTHING_READ }
  for (const { position: at, version } of changes) {
    const before = reading(version.tenant)
    onVersion?.(version)
    const after = reading(version.tenant)
    const isReady = after === before || !isAheadNeeded(after)
    documents.push(documentOf(version, isReady ? after : before, onPoison, read.get(version)))
    weight += version.body.length
    reached = at
    if (documents.length === AT_ONCE || weight > HEAVY) {
      index.applyNow(documents.splice(0))
      weight = 0
      if (index.isFull) break
    }
    if (!isReady) break
  }
  if (reached === position) return position
  index.applyNow(documents)
  index.setNote('position', reached)
  return reached
}

/** `read`: the resources that were read already. */
export const documentsOf = (
  versions: readonly ResourceVersion[],
  reading: ReadingOf,
  onPoison: OnPoison,
  read: ReadAhead,
): readonly IndexDocument[] => versions.map((version) => documentOf(version, reading(version.tenant), onPoison, read.get(version)))

/** `read`: the resource, where it was read already. */
export function documentOf(version: ResourceVersion, reading: Reading, onPoison: OnPoison, read?: Resource): IndexDocument {
  try {
    return extract(version, version.deleted ? undefined : (read ?? (parseJsonBytes(version.body) as Resource)), reading, (code, cause) =>
      onPoison(version, new Unevaluated(code, { cause })),
    )
  } catch (error) {
    onPoison(version, error)
    return extract(version, undefined)
  }
}
