/** Serving index of each type, in the state that all processes share. Changes are pure. */
import { resourceTypes } from '../../fhir/resource-types.ts'
import { identityOf, isServing, type ServingIndices } from '../../ports/search/serving-indices.ts'
import { withCurrentFormat, withoutPreviousIndex } from './index-retention.ts'
import { type IndexState, requestNewIndices, withoutAttempt } from './state.ts'

export const NO_INDICES: ServingIndices = { identity: 'none', types: {}, lacking: [], former: [] }

/** Maximum former identities in the state. They are retained so that leftover indices of these identities can be removed. */
const MOST_FORMER = 20

export type IdentifiedState = IndexState & { readonly live: ServingIndices }

/**
 * Returns the state with an index identity, which is `fresh` if it had none. Indices from before identities existed are rebuilt, because
 * their content is unknown.
 */
export function withIdentity(state: IndexState, fresh: string): IdentifiedState {
  const { live } = state
  if (live !== undefined) return state as IdentifiedState
  if (state.extraction === undefined) return { ...state, live: { ...NO_INDICES, identity: fresh } }
  const types = Object.fromEntries(resourceTypes.map((type) => [type, fresh]))
  return { ...requestNewIndices(state, resourceTypes), live: { ...NO_INDICES, identity: fresh, types, lacking: resourceTypes } }
}

/** Records that the types have an index of this identity. A type that already has an index keeps its identity. */
export function addIndices(state: IdentifiedState, types: readonly string[], identity: string): IdentifiedState {
  const fresh = types.filter((type) => !Object.hasOwn(state.live.types, type))
  if (fresh.length === 0) return state
  const added = Object.fromEntries(fresh.map((type) => [type, identity]))
  return { ...state, live: { ...state.live, types: { ...state.live.types, ...added } } }
}

/**
 * Marks indices as lost and requests their rebuild as `fresh`, from the first document. `missing`: type → identity of the missing index.
 * Ignores types that have another identity by now.
 */
export function markLost(state: IdentifiedState, missing: Readonly<Record<string, string>>, fresh: string): IdentifiedState {
  const { live } = state
  const gone = Object.keys(missing).filter((type) => isServing(live, type) && live.types[type] === missing[type])
  if (gone.length === 0) return state
  const former = [...new Set([...live.former, live.identity, ...gone.map((type) => live.types[type]!)])].slice(-MOST_FORMER)
  const types = { ...live.types, ...Object.fromEntries(gone.map((type) => [type, fresh])) }
  const { rebuilds, ...rest } = requestNewIndices(gone.reduce(unmade, state), gone)
  return {
    ...rest,
    rebuilds: rebuilds.map((each) => (gone.includes(each.type) ? withoutAttempt(each) : each)),
    live: { ...live, identity: fresh, types, lacking: [...live.lacking, ...gone], former },
  }
}

/** Drops the document format and the previous index of the type, because they describe the lost index. */
const unmade = (state: IdentifiedState, type: string): IdentifiedState =>
  withoutPreviousIndex(withCurrentFormat(state, type), type) as IdentifiedState

/** Records that the type's index of this identity has all documents and answers searches. */
export function markServing(state: IndexState, type: string, identity: string): IndexState {
  const { live } = state
  // guard: lost-index-is-identified
  if (live === undefined || identityOf(live, type) !== identity || isServing(live, type)) return state
  const lacking = live.lacking.filter((each) => each !== type)
  return { ...state, live: { ...live, types: { ...live.types, [type]: identity }, lacking } }
}

export const isIndexLost = ({ live }: IndexState, type: string): boolean => live?.lacking.includes(type) ?? false
