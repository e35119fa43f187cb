/** Changes the serving index of each type in the index state that all processes share. Changes are pure functions. */
import { resourceTypes } from '../../fhir/resource-types.ts'
import { identityOf, isServing } from '../../ports/search/serving-indices.ts'
import { requestNewIndices, withoutAttempt, withoutAttempts } from './rebuild-queue.ts'
import { type IndexState, NO_IDENTITY, withTypes } from './state.ts'
import { withLoss, without } from './type-index.ts'

/**
 * Maximum number of former identities in the state; the oldest are dropped. Cleanup removes leftover indices only of identities that the
 * state knows.
 */
const MOST_FORMER = 20

/**
 * Returns the state with an index identity, which is `fresh` if it had none. If it has a document format but no identity, indices of
 * unknown content may exist. All types are then marked as lost and rebuilt.
 */
export function withIdentity(state: IndexState, fresh: string): IndexState {
  if (state.identity !== NO_IDENTITY) return state
  if (state.extraction === undefined) return { ...state, identity: fresh }
  const lost = resourceTypes.map((type) => [type, { ...state.types[type], identity: fresh, lost: true }] as const)
  return { ...requestNewIndices(state, resourceTypes), identity: fresh, types: Object.fromEntries(lost) }
}

/** Records that each of these types has an index of this identity. A type that already has an identity keeps it. */
export const addIndices = (state: IndexState, types: readonly string[], identity: string): IndexState =>
  withTypes(state, types, (index) => (index.identity === undefined ? { ...index, identity } : index))

/** Records whether the latest heartbeat cannot become complete, so that the index status reports it. */
export function markHeartbeats(state: IndexState, areIncomplete: boolean): IndexState {
  const { uncovered = false, ...others } = state
  if (uncovered === areIncomplete) return state
  return areIncomplete ? { ...others, uncovered: true } : others
}

/**
 * Marks serving indices as lost and requests a rebuild of their types under the identity `fresh`, from the first document. `missing`:
 * identity of the missing index, by type. Ignores types that have another identity by now or are already lost.
 */
export function markLost(state: IndexState, missing: Readonly<Record<string, string | undefined>>, fresh: string): IndexState {
  const after = withTypes(state, Object.keys(missing), (index, type) => withLoss(index, missing[type], fresh))
  const gone = Object.keys(missing).filter((type) => after.types[type] !== state.types[type])
  if (gone.length === 0) return state
  const former = [...new Set([...state.former, state.identity, ...gone.map((type) => missing[type]!)])].slice(-MOST_FORMER)
  const wanted = withoutAttempts(requestNewIndices(after, gone), gone)
  return {
    ...wanted,
    rebuilds: wanted.rebuilds.map((each) => (gone.includes(each.type) ? withoutAttempt(each) : each)),
    identity: fresh,
    former,
  }
}

/**
 * Records that the rebuilt index of this identity holds all documents, so that the type is no longer lost. Does nothing if the type has
 * another identity by now.
 */
export function markServing(state: IndexState, type: string, identity: string): IndexState {
  // guard: lost-index-is-identified
  if (identityOf(state, type) !== identity) return state
  return withTypes(state, [type], (index) => (isServing(index) ? index : { ...without(index, 'lost'), identity }))
}
