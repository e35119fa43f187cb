/** Serving index of each type, in the state that all processes share. Changes are pure. */
import { resourceTypes } from '../../fhir/resource-types.ts'
import { identityOf, isServing } from '../../ports/search/serving-indices.ts'
import { requestNewIndices, withoutAttempt } from './rebuild-queue.ts'
import { type IndexState, NO_IDENTITY, withTypes } from './state.ts'
import { withLoss, without } from './type-index.ts'

/** Maximum former identities in the state. They are retained so that leftover indices of these identities can be removed. */
const MOST_FORMER = 20

/**
 * Returns the state with an index identity, which is `fresh` if it had none. Indices from before identities existed are rebuilt, because
 * their content is unknown.
 */
export function withIdentity(state: IndexState, fresh: string): IndexState {
  if (state.identity !== NO_IDENTITY) return state
  if (state.extraction === undefined) return { ...state, identity: fresh }
  const lost = resourceTypes.map((type) => [type, { ...state.types[type], identity: fresh, lost: true }] as const)
  return { ...requestNewIndices(state, resourceTypes), identity: fresh, types: Object.fromEntries(lost) }
}

/** Records that the types have an index of this identity. A type that already has an index keeps its identity. */
export const addIndices = (state: IndexState, types: readonly string[], identity: string): IndexState =>
  withTypes(state, types, (index) => (index.identity === undefined ? { ...index, identity } : index))

/**
 * Marks indices as lost and requests their rebuild as `fresh`, from the first document. `missing`: type → identity of the missing index.
 * Ignores types that have another identity by now.
 */
export function markLost(state: IndexState, missing: Readonly<Record<string, string | undefined>>, fresh: string): IndexState {
  const after = withTypes(state, Object.keys(missing), (index, type) => withLoss(index, missing[type], fresh))
  const gone = Object.keys(missing).filter((type) => after.types[type] !== state.types[type])
  if (gone.length === 0) return state
  const former = [...new Set([...state.former, state.identity, ...gone.map((type) => missing[type]!)])].slice(-MOST_FORMER)
  const wanted = requestNewIndices(after, gone)
  return {
    ...wanted,
    rebuilds: wanted.rebuilds.map((each) => (gone.includes(each.type) ? withoutAttempt(each) : each)),
    identity: fresh,
    former,
  }
}

/** Records that the type's index of this identity has all documents and answers searches. */
export function markServing(state: IndexState, type: string, identity: string): IndexState {
  // guard: lost-index-is-identified
  if (identityOf(state, type) !== identity) return state
  return withTypes(state, [type], (index) => (isServing(index) ? index : { ...without(index, 'lost'), identity }))
}
