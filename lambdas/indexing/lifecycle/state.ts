/**
 * State that the processes of a deployment share about their index: definitions, rebuilds and the worker. Changes are pure. No concurrent
 * change is lost (ports/rows/shared-state.ts).
 */
import { deflateRawSync } from 'node:zlib'
import { MachineFault } from '../../ports/faults.ts'
import type { SharedState } from '../../ports/rows/shared-state.ts'
import { failedParameterOf, type IndexStatus, type UnindexableVersionStatus } from '../../ports/search/index-status.ts'
import type { ServingIndices } from '../../ports/search/serving-indices.ts'
import type { HistoryPosition, ResourceVersion, VersionKey } from '../../ports/store/resource-store.ts'
import {
  addRebuild,
  type Definitions,
  finishRebuild,
  NO_DEFINITIONS,
  type Rebuild,
  TOO_MANY_PARAMETERS,
  type UnindexableVersion,
  withoutUnindexable,
  withSearchParameter,
  withUnindexable,
} from '../custom-definitions.ts'

/** A pending rebuild. `taken`: name of the attempt that performs it. A new request for the same type has none. */
export type PendingRebuild = Rebuild & { readonly taken?: string }

/** Document format of an index. `since`: lowest lastUpdated, in ms since 1970, of versions that it holds in another format or lacks. */
export type IndexFormat = { readonly extraction: string; readonly since: number }

/** A retained index. `at`: when it was replaced, in ms since 1970. `epoch`: restore generation of the store at that time. */
export type PreviousIndex = IndexFormat & { readonly index: string; readonly at: number; readonly epoch: number }

/**
 * Reconciliation of the index with a store that was restored to an earlier time (restore.ts). `former`: name of the store before the
 * restore. `since`: documents of its versions from then on may differ from the restored store. `at`: when the reconciliation began. No
 * process writes to the former store any more. `reached`: progress by type. Instants in ms since 1970.
 */
export type Reconciliation = {
  readonly former: string
  readonly since: number
  readonly at: number
  readonly reached?: Readonly<Record<string, ReconciliationProgress>>
}
/** Progress of a type. `share`: completed share of the work, from 0 to 1. */
export type ReconciliationProgress = { readonly tenant: string; readonly after?: HistoryPosition; readonly share: number }

export type IndexState = Omit<Definitions, 'rebuilds'> & {
  readonly rebuilds: readonly PendingRebuild[]
  /** Serving indices. Absent before the first deployment. */
  readonly live?: ServingIndices
  /** Name of the store that the documents are built from. */
  readonly store?: string
  /** Document format of new documents. */
  readonly extraction?: string
  /** Document formats of outdated indices, by type. An outdated index is not entirely of the format `extraction`, or lacks versions. */
  readonly behind?: Readonly<Record<string, IndexFormat>>
  /** Previous indices by type. */
  readonly kept?: Readonly<Record<string, PreviousIndex>>
  /** When the store was last restored, in ms since 1970. */
  readonly setBackAt?: number
  /** Present until the index is reconciled with the restored store. */
  readonly setBack?: Reconciliation
  /** Execution that performs the rebuilds, and when it last reported, in ms since 1970. */
  readonly worker?: { readonly execution: string; readonly at: number }
}

export type SharedIndexState = SharedState<IndexState>

export const NO_STATE: IndexState = NO_DEFINITIONS

/** Maximum size of the state, in compressed bytes. Its store accepts 400 kB, and progress of rebuilds needs part of that. */
const MOST_BYTES = 300_000
/** Maximum size of the definitions of one tenant, in compressed bytes, so that no tenant fills the state alone. */
const MOST_OF_TENANT = 150_000

function isRoomFor(kept: unknown, most = MOST_BYTES): boolean {
  const text = JSON.stringify(kept)
  return text.length <= most / 2 || deflateRawSync(text).length <= most
}

const ofTenant = ({ definitions }: IndexState, tenant: string) => definitions.filter((each) => each.tenant === tenant)

/** Time without a report after which a worker counts as gone, in milliseconds. */
export const WORKER_TIMEOUT_MS = 20 * 60_000

/** Applies a change to the definitions and keeps the rest of the state. */
const on = (state: IndexState, change: (definitions: Definitions) => Definitions): IndexState => {
  const changed = change(state)
  return changed === state ? state : { ...state, ...changed }
}

/**
 * Applies a version of a SearchParameter. If the state or the tenant's part of it would exceed its maximum size, the version defines
 * nothing. It is then recorded as unindexable.
 */
export function applySearchParameter(state: IndexState, version: ResourceVersion): IndexState {
  const after = on(state, (each) => withSearchParameter(each, version))
  const isLarger = JSON.stringify(after).length > JSON.stringify(state).length
  const isRoom = !isLarger || (isRoomFor(after) && isRoomFor(ofTenant(after, version.tenant), MOST_OF_TENANT))
  return isRoom ? after : recordUnindexable(state, version, TOO_MANY_PARAMETERS)
}

export const recordUnindexable = (state: IndexState, version: VersionKey, reason: string): IndexState =>
  on(state, (each) => withUnindexable(each, version, reason))

export const clearUnindexable = (state: IndexState, version: ResourceVersion): IndexState =>
  on(state, (each) => withoutUnindexable(each, version))

/**
 * Requests a rebuild of the tenant's documents in the serving indices. Throws the fault `overloaded` if the state has no room for more
 * rebuilds.
 */
export function requestRebuild(state: IndexState, tenant: string, types: readonly string[]): IndexState {
  const after = on(state, (each) => addRebuild(each, tenant, types, true))
  if (after.rebuilds.length > state.rebuilds.length && !isRoomFor(after))
    throw new MachineFault('overloaded', 'too many rebuilds are waiting')
  return after
}

/** Requests a new index of each type, with the documents of all tenants. */
export const requestNewIndices = (state: IndexState, types: readonly string[]): IndexState =>
  on(state, (each) => addRebuild(each, '', types))

/** Whether a worker has something to do: rebuilds or a reconciliation. */
export const isWorkerNeeded = ({ rebuilds, setBack }: IndexState): boolean => rebuilds.length > 0 || setBack !== undefined

export const isWorkerGone = ({ worker }: IndexState, now: number): boolean => worker === undefined || now - worker.at > WORKER_TIMEOUT_MS

/**
 * Assigns all pending rebuilds to the execution as one attempt. Changes nothing while another execution is the worker, because that one
 * will take them. Removes the worker if no rebuild is pending.
 */
export function takeRebuilds(state: IndexState, execution: string, now: number): IndexState {
  if (state.worker?.execution !== execution && !isWorkerGone(state, now)) return state
  if (state.rebuilds.length === 0) return state.worker === undefined ? state : withoutWorker(state)
  const attempt = `${execution}~${now}`
  return { ...state, worker: { execution, at: now }, rebuilds: state.rebuilds.map((each) => ({ ...each, taken: attempt, done: 0 })) }
}

/** Removes the worker if it is this execution. */
export const releaseWorker = (state: IndexState, execution: string): IndexState =>
  state.worker?.execution === execution ? withoutWorker(state) : state

const withoutWorker = ({ worker: _, ...rest }: IndexState): IndexState => rest

/** Returns the rebuilds of an attempt that were not requested again since it began. */
export const rebuildsOfAttempt = ({ rebuilds }: IndexState, attempt: string): readonly PendingRebuild[] =>
  rebuilds.filter(({ taken }) => taken === attempt)

/** Detaches rebuilds of the type from the attempt. The next attempt starts them from the beginning. */
export const restartRebuild = (state: IndexState, attempt: string, type: string): IndexState => ({
  ...state,
  rebuilds: state.rebuilds.map((each) => (each.type === type && each.taken === attempt ? withoutAttempt(each) : each)),
})

export const withoutAttempt = ({ taken: _, ...rebuild }: PendingRebuild): PendingRebuild => rebuild

/** Adds created documents to the progress of the attempt, and records that the worker reported. `counts`: created documents by tenant. */
export const recordRebuildProgress = (
  state: IndexState,
  attempt: string,
  type: string,
  counts: ReadonlyMap<string, number>,
  now: number,
): IndexState => ({
  ...state,
  ...(state.worker === undefined ? {} : { worker: { ...state.worker, at: now } }),
  rebuilds: state.rebuilds.map((each) =>
    each.type === type && each.taken === attempt ? { ...each, done: each.done + (counts.get(each.tenant) ?? 0) } : each,
  ),
})

/** Finishes the type's rebuilds of the attempt. A rebuild that was requested again since then stays pending. */
export const finishAttempt = (state: IndexState, attempt: string, type: string): IndexState =>
  rebuildsOfAttempt(state, attempt)
    .filter((each) => each.type === type)
    .reduce((now, each) => on(now, (definitions) => finishRebuild(definitions, each)), state)

/** Returns the index status for users of the tenant. `live`, `setBack`: present only in the state of an AWS deployment. */
export const statusOf = (
  { definitions, rebuilds, poisoned, live, setBack }: Definitions & Pick<IndexState, 'live' | 'setBack'>,
  tenant: string,
): IndexStatus => ({
  definitions: definitions
    .filter((each) => each.tenant === tenant)
    .map(({ id, mapping: { base, code }, state }) => ({ id, base, code, state })),
  // guard: rebuild-covers-the-tenant
  rebuilds: rebuilds
    .filter((each) => each.tenant === tenant || each.tenant === '')
    .map((each) => (each.tenant === tenant ? each : inHundredths(each)))
    .map(({ type, done, total }) => ({ type, done, total, ...(live?.lacking.includes(type) ? { isSearched: false } : {}) }))
    .concat(caughtUp(live, setBack)),
  unreadable: poisoned.filter((each) => each.tenant === tenant).map(unreadableOf),
})

function unreadableOf({ type, id, versionId, reason }: UnindexableVersion): UnindexableVersionStatus {
  const parameter = failedParameterOf(reason)
  return { type, id, versionId, reason, ...(parameter === undefined ? {} : { parameter }) }
}

/** Returns the types that are being reconciled with a restored store, with progress in percent. */
const caughtUp = (live: ServingIndices | undefined, setBack: Reconciliation | undefined) =>
  (live?.ahead ?? [])
    .filter((type) => !live?.lacking.includes(type))
    .map((type) => ({ type, done: Math.floor(100 * (setBack?.reached?.[type]?.share ?? 0)), total: 100, isSearched: false }))

/** Returns the progress in percent, so that no tenant learns the number of documents of all tenants. */
const inHundredths = (rebuild: Rebuild): Rebuild =>
  rebuild.total > 0 ? { ...rebuild, done: Math.floor((100 * rebuild.done) / rebuild.total), total: 100 } : { ...rebuild, done: 0 }
