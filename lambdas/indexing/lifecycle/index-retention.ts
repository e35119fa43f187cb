/**
 * Document format of each type's index, and the previous index that it replaced. A previous index lacks only the versions since then, so a
 * rollback to earlier code is fast. Part of the state that all processes share. Changes are pure.
 */
import { resourceTypes } from '../../fhir/resource-types.ts'
import { isServing } from '../../ports/search/serving-indices.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import { type FormatChanges, formatChangesBetween } from '../../search/documents/changed-keys.ts'
import { parseDocumentFormat } from '../document-format.ts'
import { type IndexState, type PreviousIndex, rebuildsOfAttempt, requestNewIndices, withoutAttempt } from './state.ts'

/** Returns the document format of the type's serving index, or undefined if it is unknown. */
const madeWith = ({ behind, extraction }: IndexState, type: string): string | undefined => behind?.[type]?.extraction ?? extraction

/**
 * Returns how documents of the type may differ from this document format, or undefined if none differs. An index of this format that also
 * holds other documents, or lacks versions, is `all`: the documents concerned are unknown.
 */
export function formatChangesOf(state: IndexState, type: string, extraction: string): FormatChanges | undefined {
  const made = madeWith(state, type)
  if (made === undefined || (made === extraction && state.behind?.[type] === undefined)) return undefined
  return made === extraction ? 'all' : formatChangesBetween(parseDocumentFormat(made), parseDocumentFormat(extraction))
}

/**
 * Sets the document format of new documents. Indices of another format are rebuilt, or replaced by a previous index of this format. `now`:
 * ms since 1970.
 */
export function changeFormat(state: IndexState, extraction: string, now: number): IndexState {
  const { extraction: before, live, behind = {} } = state
  if (before === extraction) return state
  if (before === undefined || live === undefined) return { ...state, extraction }
  const types = Object.keys(live.types).filter((type) => isServing(live, type))
  const made = types.map((type) => [type, behind[type] ?? { extraction: before, since: now }] as const)
  return { ...requestNewIndices(state, resourceTypes), extraction, behind: Object.fromEntries(made) }
}

/** Records that documents of these versions, in this document format, are about to be written to the serving indices. */
export function recordFollowedVersions(state: IndexState, versions: readonly ResourceVersion[], extraction: string): IndexState {
  const oldest = new Map<string, number>()
  for (const { type, lastUpdated } of versions) oldest.set(type, Math.min(lastUpdated, oldest.get(type) ?? lastUpdated))
  let after = state
  for (const [type, since] of oldest) after = withKept(withBehind(after, type, since, extraction), type, since)
  return after
}

function withBehind(state: IndexState, type: string, came: number, extraction: string): IndexState {
  const { live, behind } = state
  const made = madeWith(state, type)
  const since = behind?.[type]?.since ?? (made === extraction ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY)
  if (live === undefined || !isServing(live, type) || made === undefined || came >= since) return state
  return { ...state, behind: { ...behind, [type]: { extraction: made, since: came } } }
}

function withKept(state: IndexState, type: string, came: number): IndexState {
  const kept = state.kept?.[type]
  return kept === undefined || came >= kept.since ? state : { ...state, kept: { ...state.kept, [type]: { ...kept, since: came } } }
}

/**
 * Records that some versions stamped at `since` or later reached no index. Serving indices become outdated, and rebuilds under way start
 * again. `since`: ms since 1970.
 */
export function recordMissedVersions(state: IndexState, since: number): IndexState {
  const { live, extraction, behind, kept = {} } = state
  if (live === undefined || extraction === undefined) return state
  const types = Object.keys(live.types).filter((type) => isServing(live, type))
  const made = types.map((type) => {
    const before = behind?.[type]
    return [type, { extraction: before?.extraction ?? extraction, since: Math.min(since, before?.since ?? since) }] as const
  })
  const lacking = Object.keys(kept).reduce((each, type) => withKept(each, type, since), state)
  return { ...lacking, behind: { ...behind, ...Object.fromEntries(made) }, rebuilds: state.rebuilds.map(withoutAttempt) }
}

/**
 * Procedure to obtain an index of the type in the document format of the state. `here` updates the serving index. `back` updates the
 * previous index and makes it serve again. The third kind fills a new index. `since`: stamp from which versions are indexed again. `index`:
 * name of the previous index.
 */
export type RebuildPath = { readonly kind: 'anew' } | { readonly kind: 'here' | 'back'; readonly since: number; readonly index?: string }

/**
 * Returns the procedure of an attempt for the type. An attempt that changes more than the document format rebuilds all documents, because a
 * previous index lacks that change. A previous index of another restore generation is not used, because it may hold versions that the store
 * lost.
 */
export function rebuildPathOf(state: IndexState, type: string, attempt: string, epoch: number): RebuildPath {
  const behind = isUpgrade(state, type, attempt) ? state.behind?.[type] : undefined
  const kept = state.kept?.[type]
  if (behind !== undefined && behind.extraction === state.extraction)
    return { kind: 'here', since: behind.since, ...(kept === undefined ? {} : { index: kept.index }) }
  // guard: retained-index-of-same-generation
  if (behind !== undefined && kept?.extraction === state.extraction && kept?.epoch === epoch)
    return { kind: 'back', since: kept!.since, index: kept!.index }
  return { kind: 'anew' }
}

const isUpgrade = (state: IndexState, type: string, attempt: string): boolean =>
  state.live?.lacking.includes(type) !== true && rebuildsOfAttempt(state, attempt).every((each) => each.type !== type || each.tenant === '')

/** Whether to retain the serving index that the index of this attempt replaces. True if only the document format changes. */
export const isWorthRetaining = (state: IndexState, type: string, attempt: string): boolean =>
  isUpgrade(state, type, attempt) && state.behind?.[type] !== undefined

/** Records that an index of format `extraction` has replaced the serving index. `index`: name of the replaced index, if it is retained. */
export function replaceIndex(
  state: IndexState,
  type: string,
  {
    extraction,
    index,
    ...when
  }: Pick<PreviousIndex, 'at' | 'epoch'> & {
    readonly extraction: string | undefined
    readonly index: string | undefined
  },
): IndexState {
  const { behind } = state
  const made = behind?.[type]
  const after = withoutPreviousIndex(withCurrentFormat(state, type), type)
  const kept =
    made === undefined || index === undefined ? after : { ...after, kept: { ...after.kept, [type]: { ...made, index, ...when } } }
  // A deployment has set another format meanwhile, so the new index is outdated.
  return extraction === undefined || extraction === state.extraction
    ? kept
    : { ...kept, behind: { ...kept.behind, [type]: { extraction, since: made?.since ?? when.at } } }
}

/** Records that all documents of the type's serving index have the document format of the state. */
export function withCurrentFormat(state: IndexState, type: string): IndexState {
  if (state.behind?.[type] === undefined) return state
  const { [type]: _, ...behind } = state.behind
  return { ...state, behind }
}

/**
 * Records a rebuild in the serving index. An upgrade covers all tenants, so the index has the current format. Any other rebuild ends the
 * previous index, because that index lacks its changes.
 */
export const recordInPlaceRebuild = (state: IndexState, type: string, attempt: string): IndexState =>
  isUpgrade(state, type, attempt) ? withCurrentFormat(state, type) : withoutPreviousIndex(state, type)

/** Drops the previous index of the type from the state. */
export function withoutPreviousIndex(state: IndexState, type: string): IndexState {
  if (state.kept?.[type] === undefined) return state
  const { [type]: _, ...kept } = state.kept
  return { ...state, kept }
}

/**
 * Whether a previous index was replaced at or before `before`, in ms since 1970. False while rebuilds are pending, because no index is
 * removed then.
 */
export const hasExpiredIndex = ({ kept = {}, rebuilds }: IndexState, before: number): boolean =>
  rebuilds.length === 0 && Object.values(kept).some(({ at }) => at <= before)

export const previousNamesOf = ({ kept = {} }: IndexState): readonly string[] => Object.values(kept).map(({ index }) => index)

export function withoutExpiredIndices(state: IndexState, before: number): IndexState {
  if (!hasExpiredIndex(state, before)) return state
  return { ...state, kept: Object.fromEntries(Object.entries(state.kept ?? {}).filter(([, { at }]) => at > before)) }
}

/**
 * Requests rebuilds of outdated indices that have none pending, for example after an abandoned deployment. Does nothing if the state has
 * another document format than `extraction`.
 */
export function requestOutdatedRebuilds(state: IndexState, extraction: string): IndexState {
  const { behind = {}, rebuilds } = state
  const left = Object.keys(behind).filter((type) => !rebuilds.some((each) => each.type === type))
  return left.length === 0 || state.extraction !== extraction ? state : requestNewIndices(state, left)
}
