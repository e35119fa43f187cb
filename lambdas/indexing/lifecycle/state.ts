/**
 * State that the processes of a deployment share about their index: definitions, rebuilds, the worker, and one record for each type.
 * Changes are pure. No concurrent change is lost (ports/rows/shared-state.ts).
 */
import type { SharedState } from '../../ports/rows/shared-state.ts'
import type { ServingIndices } from '../../ports/search/serving-indices.ts'
import type { Definitions, Rebuild } from '../custom-definitions.ts'
import type { TypeIndex } from './type-index.ts'

/** A pending rebuild. `taken`: name of the attempt that performs it. A new request for the same type has none. */
export type PendingRebuild = Rebuild & { readonly taken?: string }

/**
 * Reconciliation of the index with a store that was restored to an earlier time (restore.ts). `former`: name of the store before the
 * restore. `since`: documents of its versions from then on may differ from the restored store. `at`: when the reconciliation began. No
 * process writes to the former store any more. Instants in ms since 1970.
 */
export type Reconciliation = { readonly former: string; readonly since: number; readonly at: number }

/** Identity in a state from before the first deployment. No index has it. */
export const NO_IDENTITY = 'none'

/** `identity`: NO_IDENTITY before the first deployment. */
export type IndexState = Omit<Definitions, 'rebuilds'> &
  ServingIndices & {
    readonly rebuilds: readonly PendingRebuild[]
    readonly types: Readonly<Record<string, TypeIndex>>
    /** Document format of new documents. */
    readonly extraction?: string
    /** Name of the store that the documents are built from. */
    readonly store?: string
    /** When the store was last restored, in ms since 1970. */
    readonly setBackAt?: number
    /** Present until the index is reconciled with the restored store. */
    readonly setBack?: Reconciliation
    /** Execution that performs the rebuilds, and when it last reported, in ms since 1970. */
    readonly worker?: { readonly execution: string; readonly at: number }
  }

export type SharedIndexState = SharedState<IndexState>

/** Applies a change to the definitions and keeps the rest of the state. */
export const withDefinitions = <State extends IndexState>(state: State, change: (definitions: Definitions) => Definitions): State => {
  const changed = change(state)
  return changed === state ? state : { ...state, ...changed }
}

/** Applies a change to the index of each of these types. Returns the very state it got if no index changes. */
export function withTypes<State extends IndexState>(
  state: State,
  types: Iterable<string>,
  change: (index: TypeIndex, type: string) => TypeIndex,
): State {
  let { types: all }: IndexState = state
  for (const type of types) {
    const before = all[type] ?? {}
    const after = change(before, type)
    if (after !== before) all = { ...all, [type]: after }
  }
  return all === state.types ? state : { ...state, types: all }
}

/** Returns the types whose index has this fact. */
export const typesWith = ({ types }: IndexState, fact: keyof TypeIndex): readonly string[] =>
  Object.keys(types).filter((type) => types[type]![fact] !== undefined)
