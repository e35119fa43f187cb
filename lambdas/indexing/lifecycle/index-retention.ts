/**
 * Document format of each type's serving index, and the previous index that it replaced. After a rollback to earlier code, a previous index
 * of its format serves again. Only versions from `since` on are indexed in it again, so that is fast. The records are part of the state
 * that all processes share. Changes are pure functions.
 */
import { resourceTypes } from '../../fhir/resource-types.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import { type FormatChanges, formatChangesBetween } from '../../search/documents/changed-keys.ts'
import { parseDocumentFormat } from '../document-format.ts'
import { rebuildsOfAttempt, requestNewIndices, restartAllRebuilds } from './rebuild-queue.ts'
import { type IndexState, NO_IDENTITY, typesWith, withTypes } from './state.ts'
import {
  type IndexReplacement,
  type RebuildPath,
  rebuildPath,
  type TypeIndex,
  withFollowed,
  withFormatChange,
  withMissed,
  without,
  withReplacement,
} from './type-index.ts'

/**
 * Returns the document format of the type's serving index, or of its oldest documents if it is outdated. Returns undefined if the format is
 * unknown.
 */
const madeWith = ({ types, extraction }: IndexState, type: string): string | undefined => types[type]?.outdated?.extraction ?? extraction

/**
 * Returns how documents of the type may differ from the document format `extraction`. Returns undefined if none differs or their format is
 * unknown. Returns `all` if the oldest documents have this format, but others have another one or are missing. Then it is not recorded
 * which documents these are.
 */
export function formatChangesOf(state: IndexState, type: string, extraction: string): FormatChanges | undefined {
  const made = madeWith(state, type)
  if (made === undefined || (made === extraction && !isOutdated(state, type))) return undefined
  return made === extraction ? 'all' : formatChangesBetween(parseDocumentFormat(made), parseDocumentFormat(extraction))
}

export const isOutdated = ({ types }: IndexState, type: string): boolean => types[type]?.outdated !== undefined

/**
 * Sets the document format of new documents. Marks the serving indices as outdated and requests a new index for every type. A rebuild may
 * use a previous index of that format. Before the first deployment it only sets the format. `now`: ms since 1970.
 */
export function changeFormat(state: IndexState, extraction: string, now: number): IndexState {
  const { extraction: before, identity, types } = state
  if (before === extraction) return state
  if (before === undefined || identity === NO_IDENTITY) return { ...state, extraction }
  const after = requestNewIndices(
    withTypes(state, Object.keys(types), (index) => withFormatChange(index, before, now)),
    resourceTypes,
  )
  // Attempts that have begun have documents of the earlier format.
  return { ...restartAllRebuilds(after), extraction }
}

/**
 * Records that documents of these versions are about to be written to the serving indices in the document format `extraction`. If that is
 * not the format of an index, the index becomes outdated.
 */
export function recordFollowedVersions(state: IndexState, versions: readonly ResourceVersion[], extraction: string): IndexState {
  const oldest = new Map<string, number>()
  for (const { type, lastUpdated } of versions) oldest.set(type, Math.min(lastUpdated, oldest.get(type) ?? lastUpdated))
  return withTypes(state, oldest.keys(), (index, type) => withFollowed(index, oldest.get(type)!, extraction, madeWith(state, type)))
}

/**
 * Records that some versions stamped at `since` or later may have reached no index. Marks the serving indices as outdated. Rebuilds that
 * have begun start again. `since`: ms since 1970.
 */
export function recordMissedVersions(state: IndexState, since: number): IndexState {
  const { identity, extraction, types } = state
  if (identity === NO_IDENTITY || extraction === undefined) return state
  const withSince = (index: TypeIndex) => withMissed(index, since, index.outdated?.extraction ?? extraction)
  return restartAllRebuilds(withTypes(state, Object.keys(types), withSince))
}

/**
 * Returns how the attempt rebuilds the type. If the index is lost, or a tenant requested the rebuild, all documents are created again in a
 * new index. A previous index would lack the requested change. `epoch`: restore generation of the store.
 */
export const rebuildPathOf = (state: IndexState, type: string, attempt: string, epoch: number): RebuildPath =>
  isUpgrade(state, type, attempt) ? rebuildPath(state.types[type] ?? {}, state.extraction, epoch) : { kind: 'anew' }

const isUpgrade = (state: IndexState, type: string, attempt: string): boolean =>
  !state.types[type]?.lost && rebuildsOfAttempt(state, attempt).every((each) => each.type !== type || each.tenant === '')

/**
 * Whether to retain the serving index that the new index of the attempt replaces. True if the index is outdated, is not lost, and no tenant
 * requested the rebuild. Earlier code can then use it after a rollback.
 */
export const isWorthRetaining = (state: IndexState, type: string, attempt: string): boolean =>
  isUpgrade(state, type, attempt) && isOutdated(state, type)

export const replaceIndex = (state: IndexState, type: string, replacement: IndexReplacement): IndexState =>
  withTypes(state, [type], (index) => withReplacement(index, replacement, state.extraction))

/**
 * Records a finished rebuild in the serving index. A rebuild for all tenants makes the index current, so it is no longer outdated. After a
 * rebuild for one tenant, the previous index cannot be used any more, because it lacks the changed documents.
 */
export const recordInPlaceRebuild = (state: IndexState, type: string, attempt: string): IndexState =>
  withTypes(state, [type], (index) => without(index, isUpgrade(state, type, attempt) ? 'outdated' : 'previous'))

/** Removes the record of the type's previous index. The index itself is not removed. */
export const withoutPreviousIndex = (state: IndexState, type: string): IndexState =>
  withTypes(state, [type], (index) => without(index, 'previous'))

/**
 * Whether a previous index was replaced at or before `before`, in ms since 1970. False while rebuilds are pending, because no index is
 * removed then.
 */
export const hasExpiredIndex = ({ types, rebuilds }: IndexState, before: number): boolean =>
  rebuilds.length === 0 && Object.values(types).some(({ previous }) => previous !== undefined && previous.at <= before)

export const previousNamesOf = ({ types }: IndexState): readonly string[] =>
  Object.values(types).flatMap(({ previous }) => previous?.index ?? [])

export const withoutExpiredIndices = (state: IndexState, before: number): IndexState =>
  hasExpiredIndex(state, before)
    ? withTypes(state, typesWith(state, 'previous'), (index) => (index.previous!.at <= before ? without(index, 'previous') : index))
    : state

/**
 * Requests a new index for each outdated type without a pending rebuild, for example after an abandoned deployment. Does nothing if the
 * state has another document format than `extraction`, because code of that format performs the rebuilds.
 */
export function requestOutdatedRebuilds(state: IndexState, extraction: string): IndexState {
  const left = typesWith(state, 'outdated').filter((type) => !state.rebuilds.some((each) => each.type === type))
  return left.length === 0 || state.extraction !== extraction ? state : requestNewIndices(state, left)
}
