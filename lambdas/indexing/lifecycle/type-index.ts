/**
 * Record of the index of one resource type on AWS, and its changes. Each change is a pure function. It returns the same object if nothing
 * changes, so that the state is not written then.
 */
import { isServing, type ServingIndex } from '../../ports/search/serving-indices.ts'
import type { HistoryPosition } from '../../ports/store/resource-store.ts'

/**
 * Position that the reconciliation of a type has reached. `tenant` and `after`: where it continues. `share`: completed share of the work,
 * from 0 to 1.
 */
export type Reached = { readonly tenant: string; readonly after?: HistoryPosition; readonly share: number }

/** Document format of an index. `since`: earliest stamp, in ms since 1970, of versions that the index lacks or holds in another format. */
export type IndexFormat = { readonly extraction: string; readonly since: number }

/** A retained previous index. `at`: when it was replaced, in ms since 1970. `epoch`: restore generation of the store at that time. */
export type PreviousIndex = IndexFormat & { readonly index: string; readonly at: number; readonly epoch: number }

/** Value of `listed` if rows may be missing. No store has this restore generation. */
export const ROWS_MISSING = -1

/** Record of the serving index of a type. A property is absent if it does not apply. */
export type TypeIndex = ServingIndex & {
  /** Progress of the reconciliation. Absent until it has begun and after it has ended. */
  readonly reached?: Reached
  /** Format of the oldest documents. Present if other documents have another format, or if the index lacks versions. */
  readonly outdated?: IndexFormat
  /** The index that the serving index replaced, retained for a rollback. */
  readonly previous?: PreviousIndex
  /** Restore generation in which a rebuild last added the identifier rows of all resources. ROWS_MISSING: see identifier-rows.ts. */
  readonly listed?: number
}

/** Returns the record without this property, or the same object if it is absent. */
export function without(index: TypeIndex, fact: keyof TypeIndex): TypeIndex {
  if (index[fact] === undefined) return index
  const { [fact]: _, ...rest } = index
  return rest
}

/**
 * Marks the serving index as lost, if it has the given identity. Removes its format and previous index, which do not describe the
 * replacement. `fresh`: identity of the replacement.
 */
export const withLoss = (index: TypeIndex, identity: string | undefined, fresh: string): TypeIndex =>
  isServing(index) && index.identity === identity
    ? { ...without(without(index, 'outdated'), 'previous'), identity: fresh, lost: true }
    : index

/**
 * Records that new documents have another format from `now` on, in ms since 1970. A serving index becomes outdated. `from`: the format
 * until then.
 */
export const withFormatChange = (index: TypeIndex, from: string, now: number): TypeIndex =>
  isServing(index) ? { ...index, outdated: index.outdated ?? { extraction: from, since: now } } : without(index, 'outdated')

/**
 * Records that a version is about to be indexed. `came`: its stamp. `extraction`: its format. `made`: format of the index. If the formats
 * differ, the index becomes outdated from that stamp on. If an outdated index gets a version stamped before `since`, `since` moves back to
 * that stamp.
 */
export function withFollowed(index: TypeIndex, came: number, extraction: string, made: string | undefined): TypeIndex {
  const { outdated } = index
  const isKnown = outdated === undefined ? made === extraction : came >= outdated.since
  const isSame = isKnown || made === undefined || !isServing(index)
  return withPreviousSince(isSame ? index : { ...index, outdated: { extraction: made, since: came } }, came)
}

/**
 * Records that versions stamped at `since` or later may have reached no index. A serving index becomes outdated. `made`: format of the
 * index.
 */
export function withMissed(index: TypeIndex, since: number, made: string): TypeIndex {
  const outdated = { extraction: made, since: Math.min(since, index.outdated?.since ?? since) }
  return withPreviousSince(isServing(index) ? { ...index, outdated } : index, since)
}

/**
 * Records that the previous index lacks a version stamped `came`, because only the serving index gets it. If `came` is before `since` of the
 * previous index, `since` becomes `came`.
 */
function withPreviousSince(index: TypeIndex, came: number): TypeIndex {
  const { previous } = index
  return previous === undefined || came >= previous.since ? index : { ...index, previous: { ...previous, since: came } }
}

/** Replacement of the serving index by an index of the format `extraction`. `index`: name of the replaced index, if it is retained. */
export type IndexReplacement = Pick<PreviousIndex, 'at' | 'epoch'> & {
  readonly extraction: string | undefined
  readonly index: string | undefined
}

/**
 * Records the replacement of the serving index. An outdated index that is retained becomes the previous index. `current`: document format
 * of new documents.
 */
export function withReplacement(
  before: TypeIndex,
  { extraction, index, ...when }: IndexReplacement,
  current: string | undefined,
): TypeIndex {
  const { outdated } = before
  const rest = without(without(before, 'outdated'), 'previous')
  const after = outdated === undefined || index === undefined ? rest : { ...rest, previous: { ...outdated, index, ...when } }
  // If a deployment has set another format since the rebuild began, the new index is outdated.
  return extraction === undefined || extraction === current
    ? after
    : { ...after, outdated: { extraction, since: outdated?.since ?? when.at } }
}

/**
 * How a type obtains an index in the current format. `here` updates the serving index. `back` updates the previous index and makes it serve
 * again. `anew` fills a new index. `since`: stamp from which versions are indexed again. `index`: name of the previous index, which must
 * not be removed.
 */
export type RebuildPath = { readonly kind: 'anew' } | { readonly kind: 'here' | 'back'; readonly since: number; readonly index?: string }

/**
 * Returns how the type obtains an index of the format `extraction`. A previous index of another restore generation is not used, because it
 * may hold versions that the restored store lacks. If identifier rows may be missing, only a rebuild into a new index adds all of them.
 */
export function rebuildPath(index: TypeIndex, extraction: string | undefined, epoch: number): RebuildPath {
  const { outdated, previous, listed } = index
  // guard: rebuild-of-all-rows
  if (listed === ROWS_MISSING) return { kind: 'anew' }
  if (outdated !== undefined && outdated.extraction === extraction)
    return { kind: 'here', since: outdated.since, ...(previous === undefined ? {} : { index: previous.index }) }
  // guard: retained-index-of-same-generation
  if (outdated !== undefined && previous?.extraction === extraction && previous?.epoch === epoch)
    return { kind: 'back', since: previous!.since, index: previous!.index }
  return { kind: 'anew' }
}
