/**
 * What the documents of each type's index are made with, and which index another took the place of: one that is kept needs only what came since,
 * so that going back to the code that made it is done soon. In the state that all processes share. Changes are pure.
 */
import { resourceTypes } from '../fhir/resource-types.ts'
import { isServing } from '../ports/search/serving-indices.ts'
import type { ResourceVersion } from '../ports/store/resource-store.ts'
import { type FormatChanges, formatChangesBetween } from '../search/documents/changed-keys.ts'
import { parseDocumentFormat } from './document-format.ts'
import { type IndexState, type PreviousIndex, rebuildsOfAttempt, requestNewIndices, withoutAttempt } from './index-state.ts'

/** What the live index of the type was made with; undefined where nobody knows. */
const madeWith = ({ behind, extraction }: IndexState, type: string): string | undefined => behind?.[type]?.extraction ?? extraction

/** What of the type's documents may be other than this extraction has them; undefined: nothing. Documents of two are of nobody knows which. */
export function formatChangesOf(state: IndexState, type: string, extraction: string): FormatChanges | undefined {
  const made = madeWith(state, type)
  if (made === undefined || (made === extraction && state.behind?.[type] === undefined)) return undefined
  return made === extraction ? 'all' : formatChangesBetween(parseDocumentFormat(made), parseDocumentFormat(extraction))
}

/** From now on documents are made with this: what was made with something else is made again, or taken back. */
export function changeFormat(state: IndexState, extraction: string, now: number): IndexState {
  const { extraction: before, live, behind = {} } = state
  if (before === extraction) return state
  if (before === undefined || live === undefined) return { ...state, extraction }
  const types = Object.keys(live.types).filter((type) => isServing(live, type))
  const made = types.map((type) => [type, behind[type] ?? { extraction: before, since: now }] as const)
  return { ...requestNewIndices(state, resourceTypes), extraction, behind: Object.fromEntries(made) }
}

/** These versions are about to come to the live indices as documents made with this. */
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

/** Of what was written then or later, some came to no index: those that are live are mended, those that are being made are made anew. ms. */
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

/** How an attempt comes to an index of the type that is all made with the state's extraction. `since`: what came then or later is made again. */
export type RebuildPath = { readonly kind: 'anew' } | { readonly kind: 'here' | 'back'; readonly since: number; readonly index?: string }

/** Who asks for more than what another extraction changes has every document made again: what is kept lacks that, or what a store that was set back lost. */
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

/** Whether the live index is worth keeping when the one of this attempt takes its place: where nothing else than the extraction changes. */
export const isWorthRetaining = (state: IndexState, type: string, attempt: string): boolean =>
  isUpgrade(state, type, attempt) && state.behind?.[type] !== undefined

/** Another index, made with `extraction`, took the place of the live one, which is kept as `index`, or is not. */
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
  // Who deployed meanwhile has it made again.
  return extraction === undefined || extraction === state.extraction
    ? kept
    : { ...kept, behind: { ...kept.behind, [type]: { extraction, since: made?.since ?? when.at } } }
}

/** All documents of the type's live index are made with the extraction of the state. */
export function withCurrentFormat(state: IndexState, type: string): IndexState {
  if (state.behind?.[type] === undefined) return state
  const { [type]: _, ...behind } = state.behind
  return { ...state, behind }
}

/** After documents of the type were made again in the live index: those of all tenants, or, where not, what is kept lacks what that was for. */
export const recordInPlaceRebuild = (state: IndexState, type: string, attempt: string): IndexState =>
  isUpgrade(state, type, attempt) ? withCurrentFormat(state, type) : withoutPreviousIndex(state, type)

/** What is kept of the type does not count any more. */
export function withoutPreviousIndex(state: IndexState, type: string): IndexState {
  if (state.kept?.[type] === undefined) return state
  const { [type]: _, ...kept } = state.kept
  return { ...state, kept }
}

/** Of indices that others took the place of before the instant, in ms; but while something is made again nothing is taken away. */
export const hasExpiredIndex = ({ kept = {}, rebuilds }: IndexState, before: number): boolean =>
  rebuilds.length === 0 && Object.values(kept).some(({ at }) => at <= before)

export const previousNamesOf = ({ kept = {} }: IndexState): readonly string[] => Object.values(kept).map(({ index }) => index)

export function withoutExpiredIndices(state: IndexState, before: number): IndexState {
  if (!hasExpiredIndex(state, before)) return state
  return { ...state, kept: Object.fromEntries(Object.entries(state.kept ?? {}).filter(([, { at }]) => at > before)) }
}

/** Indices that are not all of the state's extraction, though nobody makes them again: as after a deployment that was given up. */
export function requestOutdatedRebuilds(state: IndexState, extraction: string): IndexState {
  const { behind = {}, rebuilds } = state
  const left = Object.keys(behind).filter((type) => !rebuilds.some((each) => each.type === type))
  return left.length === 0 || state.extraction !== extraction ? state : requestNewIndices(state, left)
}
