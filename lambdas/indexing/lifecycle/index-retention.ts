/**
 * Document format of each type's index, and the previous index that it replaced. A previous index lacks only the versions since then, so a
 * rollback to earlier code is fast. Part of the state that all processes share. Changes are pure.
 */
import { resourceTypes } from '../../fhir/resource-types.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import { type FormatChanges, formatChangesBetween } from '../../search/documents/changed-keys.ts'
import { parseDocumentFormat } from '../document-format.ts'
import { rebuildsOfAttempt, requestNewIndices, withoutAttempt } from './rebuild-queue.ts'
import { type IndexState, NO_IDENTITY, typesWith, withTypes } from './state.ts'
import {
  type IndexReplacement,
  type RebuildPath,
  rebuildPath,
  withFollowed,
  withFormatChange,
  withMissed,
  without,
  withReplacement,
} from './type-index.ts'

/** Returns the document format of the type's serving index, or undefined if it is unknown. */
const madeWith = ({ types, extraction }: IndexState, type: string): string | undefined => types[type]?.outdated?.extraction ?? extraction

/**
 * Returns how documents of the type may differ from this document format, or undefined if none differs. An index of this format that also
 * holds other documents, or lacks versions, is `all`: the documents concerned are unknown.
 */
export function formatChangesOf(state: IndexState, type: string, extraction: string): FormatChanges | undefined {
  const made = madeWith(state, type)
  if (made === undefined || (made === extraction && !isOutdated(state, type))) return undefined
  return made === extraction ? 'all' : formatChangesBetween(parseDocumentFormat(made), parseDocumentFormat(extraction))
}

export const isOutdated = ({ types }: IndexState, type: string): boolean => types[type]?.outdated !== undefined

/**
 * Sets the document format of new documents. Indices of another format are rebuilt, or replaced by a previous index of this format. `now`:
 * ms since 1970.
 */
export function changeFormat(state: IndexState, extraction: string, now: number): IndexState {
  const { extraction: before, identity, types } = state
  if (before === extraction) return state
  if (before === undefined || identity === NO_IDENTITY) return { ...state, extraction }
  const after = withTypes(state, Object.keys(types), (index) => withFormatChange(index, before, now))
  return { ...requestNewIndices(after, resourceTypes), extraction }
}

/** Records that documents of these versions, in this document format, are about to be written to the serving indices. */
export function recordFollowedVersions(state: IndexState, versions: readonly ResourceVersion[], extraction: string): IndexState {
  const oldest = new Map<string, number>()
  for (const { type, lastUpdated } of versions) oldest.set(type, Math.min(lastUpdated, oldest.get(type) ?? lastUpdated))
  return withTypes(state, oldest.keys(), (index, type) => withFollowed(index, oldest.get(type)!, extraction, madeWith(state, type)))
}

/**
 * Records that some versions stamped at `since` or later reached no index. Serving indices become outdated, and rebuilds under way start
 * again. `since`: ms since 1970.
 */
export function recordMissedVersions(state: IndexState, since: number): IndexState {
  const { identity, extraction, types, rebuilds } = state
  if (identity === NO_IDENTITY || extraction === undefined) return state
  const after = withTypes(state, Object.keys(types), (index) => withMissed(index, since, index.outdated?.extraction ?? extraction))
  return { ...after, rebuilds: rebuilds.map(withoutAttempt) }
}

/**
 * Returns the procedure of an attempt for the type. An attempt that changes more than the document format rebuilds all documents, because a
 * previous index lacks that change. `epoch`: restore generation of the store.
 */
export const rebuildPathOf = (state: IndexState, type: string, attempt: string, epoch: number): RebuildPath =>
  isUpgrade(state, type, attempt) ? rebuildPath(state.types[type] ?? {}, state.extraction, epoch) : { kind: 'anew' }

const isUpgrade = (state: IndexState, type: string, attempt: string): boolean =>
  !state.types[type]?.lost && rebuildsOfAttempt(state, attempt).every((each) => each.type !== type || each.tenant === '')

/** Whether to retain the serving index that the index of this attempt replaces. True if only the document format changes. */
export const isWorthRetaining = (state: IndexState, type: string, attempt: string): boolean =>
  isUpgrade(state, type, attempt) && isOutdated(state, type)

export const replaceIndex = (state: IndexState, type: string, replacement: IndexReplacement): IndexState =>
  withTypes(state, [type], (index) => withReplacement(index, replacement, state.extraction))

/**
 * Records a rebuild in the serving index. An upgrade covers all tenants, so the index has the current format. Any other rebuild ends the
 * previous index, because that index lacks its changes.
 */
export const recordInPlaceRebuild = (state: IndexState, type: string, attempt: string): IndexState =>
  withTypes(state, [type], (index) => without(index, isUpgrade(state, type, attempt) ? 'outdated' : 'previous'))

/** Drops the previous index of the type from the state. */
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
 * Requests rebuilds of outdated indices that have none pending, for example after an abandoned deployment. Does nothing if the state has
 * another document format than `extraction`.
 */
export function requestOutdatedRebuilds(state: IndexState, extraction: string): IndexState {
  const left = typesWith(state, 'outdated').filter((type) => !state.rebuilds.some((each) => each.type === type))
  return left.length === 0 || state.extraction !== extraction ? state : requestNewIndices(state, left)
}
