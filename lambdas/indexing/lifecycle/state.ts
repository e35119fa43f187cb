/**
 * Index state that the processes of a deployment share: custom parameters, rebuilds, their worker, unindexable versions, and one record for
 * each type. Changes are pure functions. No concurrent change is lost (ports/rows/shared-rows.ts).
 */
import type { VersionedValue } from '../../ports/rows/shared-state.ts'
import type { ServingIndices } from '../../ports/search/serving-indices.ts'
import type { Definitions, Rebuild } from '../custom-definitions.ts'
import type { TypeIndex } from './type-index.ts'

/**
 * A pending rebuild. `taken`: name of the attempt that performs it. Absent until an attempt takes it. A new request replaces the rebuild by
 * one without `taken`.
 */
export type PendingRebuild = Rebuild & { readonly taken?: string }

/**
 * Pending reconciliation of the index with a restored store (restore.ts). `former`: name of the store before the restore. `since`:
 * documents of versions stamped earlier need no reconciliation. `at`: when the restore was applied. The history of the former store is read
 * at least up to then. Both instants are in ms since 1970.
 */
export type Reconciliation = { readonly former: string; readonly since: number; readonly at: number }

/** Identity of a state without index identity, as before the first deployment. No index has it. */
export const NO_IDENTITY = 'none'

export type IndexState = Omit<Definitions, 'rebuilds'> &
  ServingIndices & {
    readonly rebuilds: readonly PendingRebuild[]
    readonly types: Readonly<Record<string, TypeIndex>>
    /** Document format of new documents. Indices of another format are rebuilt. */
    readonly extraction?: string
    /** IDENTIFIER_DERIVATION and document format of the latest release that adds identifier rows. Releases without rows do not change it. */
    readonly rowFormat?: string
    /** When a release began to replace one that may not add identifier rows, in ms since 1970. Absent once all writes have rows. */
    readonly formatAt?: number
    /**
     * When the deployment since `formatAt` had updated all functions that write, in ms since 1970. Absent until then. A rebuild that
     * adds missing rows sets both too (identifier-rows.ts).
     */
    readonly deployedAt?: number
    /** Numbers of shards for which indices were last requested, by type. Absent: one. */
    readonly shards?: Readonly<Record<string, number>>
    /** Name of the store that the documents are built from. */
    readonly store?: string
    /** When the latest restore was applied, in ms since 1970. Absent before the first one. */
    readonly setBackAt?: number
    /** Present from a restore until every type is reconciled. */
    readonly setBack?: Reconciliation
    /** Whether heartbeats may miss partitions of the change stream, because it has too many, or they cannot be counted. */
    readonly uncovered?: true
    /** Fields of the stored `live` that this release does not know. They are stored again unchanged. */
    readonly unknownLive?: Readonly<Record<string, unknown>>
    /** Whether new parts of tenants become rows of their own (shared-index-state.ts). */
    readonly rows?: true
    /** Earliest instant at which parts of tenants may move to rows, in ms since 1970. Absent: never. */
    readonly rowsFrom?: number
    /**
     * Present while the SearchParameters of the store are still to be applied again. `all`: an earlier release, which reads no rows, has changed
     * the state, so all types are also to be rebuilt.
     */
    readonly redefine?: 'parameters' | 'all'
    /** List of packages at the last registration of their search parameters; empty before the first. Absent: an earlier release may run. */
    readonly packageList?: string
    /** Latest attempt that took the pending rebuilds of a type, by type. Absent for a type whose rebuilds were detached from it. */
    readonly attempts?: Readonly<Record<string, string>>
    /**
     * Workflow execution that performs the rebuilds. `at`: when it last reported, in ms since 1970. `steps`: its steps so far. `width`:
     * segments that it fills at the same time.
     */
    readonly worker?: { readonly execution: string; readonly at: number; readonly steps?: number; readonly width?: number }
  }

export { ALL_TENANTS } from '../all-tenants.ts'

/**
 * Parts of tenants that a reader or a change needs. The state holds them; it may lack those of other tenants. The state always holds the
 * rebuilds for all tenants. `capacity`: what the custom parameters of other tenants use.
 */
export type StateScope = {
  readonly definitions?: readonly string[] | 'all'
  readonly poisoned?: readonly string[] | 'all'
  readonly rebuilds?: readonly string[] | 'all'
  readonly capacity?: true
}

/** Scope of reads and changes that depend on the pending rebuilds of all tenants. */
export const ALL_REBUILDS = { rebuilds: 'all' } as const

/** `isForeign`: whether an earlier release, which reads no rows, changed the state last. */
export type ReadIndexState = VersionedValue<IndexState> & { readonly isForeign?: boolean }

/** Guarantees: `change` applies to the latest state, and of concurrent changes none is lost. `read` sees every change that resolved before. */
export interface SharedIndexState {
  read(scope?: StateScope): Promise<ReadIndexState>
  /**
   * Changes the state by the result of `change`, and returns it. Nothing is written if `change` returns the same object that it got. The
   * function may be called again, with a newer state, or with parts of more tenants if it changed parts that were not in the scope. It must
   * be idempotent.
   */
  change(change: (state: IndexState) => IndexState, scope?: StateScope): Promise<VersionedValue<IndexState>>
}

/** Applies a change to the definitions and leaves the rest of the state. Returns the same object if `change` does. */
export const withDefinitions = <State extends IndexState>(state: State, change: (definitions: Definitions) => Definitions): State => {
  const changed = change(state)
  return changed === state ? state : { ...state, ...changed }
}

/** Applies a change to the record of each of these types. Returns the same object if no record changes. */
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

/** Returns the types whose record has this property. */
export const typesWith = ({ types }: IndexState, fact: keyof TypeIndex): readonly string[] =>
  Object.keys(types).filter((type) => types[type]![fact] !== undefined)
