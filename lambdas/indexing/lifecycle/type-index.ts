/**
 * The index of one resource type on AWS, and how it changes. Each change is a pure function. It returns the very index it got if nothing
 * changes, so that the state is written only when it changes.
 */
import { isServing, type ServingIndex } from '../../ports/search/serving-indices.ts'
import type { HistoryPosition } from '../../ports/store/resource-store.ts'

/** Position that a reconciliation has reached. `share`: completed share of the work, from 0 to 1. */
export type Reached = { readonly tenant: string; readonly after?: HistoryPosition; readonly share: number }

/** Document format of an index. `since`: lowest lastUpdated, in ms since 1970, of versions that it holds in another format or lacks. */
export type IndexFormat = { readonly extraction: string; readonly since: number }

/** A retained index. `at`: when it was replaced, in ms since 1970. `epoch`: restore generation of the store at that time. */
export type PreviousIndex = IndexFormat & { readonly index: string; readonly at: number; readonly epoch: number }

/** The facts about an index. Each may hold whatever the others say. */
export type TypeIndex = ServingIndex & {
  /** Progress of its reconciliation. */
  readonly reached?: Reached
  /** Format of its oldest documents. Present if the index is not entirely of the current format, or lacks versions. */
  readonly outdated?: IndexFormat
  /** The index that it replaced, retained for a rollback. */
  readonly previous?: PreviousIndex
}

/** Drops a fact. */
export function without(index: TypeIndex, fact: keyof TypeIndex): TypeIndex {
  if (index[fact] === undefined) return index
  const { [fact]: _, ...rest } = index
  return rest
}

/** Marks the index of this identity as lost. Its format and its previous index describe what is lost. `fresh`: identity of its replacement. */
export const withLoss = (index: TypeIndex, identity: string | undefined, fresh: string): TypeIndex =>
  isServing(index) && index.identity === identity
    ? { ...without(without(index, 'outdated'), 'previous'), identity: fresh, lost: true }
    : index

/** New documents get another format. `from`: the format until `now`, in ms since 1970. */
export const withFormatChange = (index: TypeIndex, from: string, now: number): TypeIndex =>
  isServing(index) ? { ...index, outdated: index.outdated ?? { extraction: from, since: now } } : without(index, 'outdated')

/**
 * A version stamped `came` is about to be indexed in the format `extraction`. If that is another format than `made` of the index, the
 * outdated period starts at the earliest such version.
 */
export function withFollowed(index: TypeIndex, came: number, extraction: string, made: string | undefined): TypeIndex {
  const { outdated } = index
  const isKnown = outdated === undefined ? made === extraction : came >= outdated.since
  const isSame = isKnown || made === undefined || !isServing(index)
  return withPreviousSince(isSame ? index : { ...index, outdated: { extraction: made, since: came } }, came)
}

/** Versions stamped at `since` or later reached no index. `made`: format of the index. */
export function withMissed(index: TypeIndex, since: number, made: string): TypeIndex {
  const outdated = { extraction: made, since: Math.min(since, index.outdated?.since ?? since) }
  return withPreviousSince(isServing(index) ? { ...index, outdated } : index, since)
}

/** The previous index lacks a version of this stamp, because only the serving index gets it. */
function withPreviousSince(index: TypeIndex, came: number): TypeIndex {
  const { previous } = index
  return previous === undefined || came >= previous.since ? index : { ...index, previous: { ...previous, since: came } }
}

/** An index of the format `extraction` has replaced the serving index. `index`: name of the replaced index, if it is retained. */
export type IndexReplacement = Pick<PreviousIndex, 'at' | 'epoch'> & {
  readonly extraction: string | undefined
  readonly index: string | undefined
}

/** `current`: document format of new documents. */
export function withReplacement(
  before: TypeIndex,
  { extraction, index, ...when }: IndexReplacement,
  current: string | undefined,
): TypeIndex {
  const { outdated } = before
  const rest = without(without(before, 'outdated'), 'previous')
  const after = outdated === undefined || index === undefined ? rest : { ...rest, previous: { ...outdated, index, ...when } }
  // A deployment has set another format meanwhile, so the new index is outdated.
  return extraction === undefined || extraction === current
    ? after
    : { ...after, outdated: { extraction, since: outdated?.since ?? when.at } }
}

/**
 * Procedure to obtain an index in the current format. `here` updates the serving index. `back` updates the previous index and makes it
 * serve again. The third kind fills a new index. `since`: stamp from which versions are indexed again. `index`: name of the previous index.
 */
export type RebuildPath = { readonly kind: 'anew' } | { readonly kind: 'here' | 'back'; readonly since: number; readonly index?: string }

/**
 * Returns how an index obtains the format. A previous index of another restore generation is not used, because it may hold versions that
 * the store lost.
 */
export function rebuildPath({ outdated, previous }: TypeIndex, extraction: string | undefined, epoch: number): RebuildPath {
  if (outdated !== undefined && outdated.extraction === extraction)
    return { kind: 'here', since: outdated.since, ...(previous === undefined ? {} : { index: previous.index }) }
  // guard: retained-index-of-same-generation
  if (outdated !== undefined && previous?.extraction === extraction && previous?.epoch === epoch)
    return { kind: 'back', since: previous!.since, index: previous!.index }
  return { kind: 'anew' }
}
