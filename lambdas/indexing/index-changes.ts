/** Feeds an index from the versions of a store, in order, each exactly as often as needed. */
import { parseJsonBytes } from '../fhir/json.ts'
import type { Resource } from '../fhir/resource.ts'
import type { ChangeFeed } from '../ports/change-feed.ts'
import type { ResourceVersion } from '../ports/resource-store.ts'
import type { IndexDocument } from '../ports/search-index.ts'
import { extract } from '../search/extract.ts'
import type { Reading } from '../search/reading.ts'

/** An index that keeps the position it follows the feed to, in one transaction with its documents. */
export type FollowingIndex = {
  readonly applyNow: (documents: readonly IndexDocument[]) => void
  readonly commit: () => void
  readonly note: (name: string) => string | number | undefined
  readonly setNote: (name: string, value: string | number) => void
}

/** Told of a version that could not be extracted: it is indexed by its key alone, and the feed goes on. */
export type OnPoison = (version: ResourceVersion, error: unknown) => void

/** `onVersion` is told of each version before it is read, and what it changes about `reading` counts for it already. */
export type Following = {
  readonly limit: number
  readonly reading: () => Reading
  readonly onPoison: OnPoison
  readonly onVersion?: (version: ResourceVersion) => void
}

export const positionOf = (index: FollowingIndex): number => Number(index.note('position') ?? 0)

/** Indexes up to `limit` versions after `position`; the position it came to. */
export function indexChanges(
  feed: ChangeFeed,
  index: FollowingIndex,
  position: number,
  { limit, reading, onPoison, onVersion }: Following,
): number {
  const changes = feed.changes(position, limit)
  const last = changes.at(-1)
  if (last === undefined) return position
  index.applyNow(
    changes.map(({ version }) => {
      onVersion?.(version)
      return documentOf(version, reading(), onPoison)
    }),
  )
  index.setNote('position', last.position)
  return last.position
}

export function documentOf(version: ResourceVersion, reading: Reading, onPoison: OnPoison): IndexDocument {
  try {
    return extract(version, version.deleted ? undefined : (parseJsonBytes(version.body) as Resource), reading)
  } catch (error) {
    onPoison(version, error)
    return extract(version, undefined)
  }
}
