/**
 * What the processes of a deployment share about their index: what is defined, what is built, and by whom. Changes are pure; of racing ones
 * none is lost (ports/rows/shared-state.ts).
 */
import { deflateRawSync } from 'node:zlib'
import { Overloaded } from '../ports/faults/overloaded.ts'
import type { SharedState } from '../ports/rows/shared-state.ts'
import type { IndexStatus } from '../ports/search/index-status.ts'
import type { ServingIndices } from '../ports/search/serving-indices.ts'
import type { HistoryPosition, ResourceVersion, VersionKey } from '../ports/store/resource-store.ts'
import {
  addRebuild,
  type Definitions,
  finishRebuild,
  NO_DEFINITIONS,
  type Rebuild,
  TOO_MANY_PARAMETERS,
  withoutUnindexable,
  withSearchParameter,
  withUnindexable,
} from './custom-definitions.ts'

/** `taken`: names the attempt that builds it; a new wish for the same type has none. */
export type PendingRebuild = Rebuild & { readonly taken?: string }

/**
 * What an index was made with. `since`: the least lastUpdated, in ms, of what came to it made with something else, or did not come to it at all.
 */
export type IndexFormat = { readonly extraction: string; readonly since: number }

/** `at`: when another took its place, in ms. `epoch`: of the store, which is set back between two of them. */
export type PreviousIndex = IndexFormat & { readonly index: string; readonly at: number; readonly epoch: number }

/**
 * A store that was set back to an earlier time (restore.ts). `former`: the name of the one that was there before. `since`: what that has from
 * then on may have documents that are not those of the store. `at`: when this began: nobody writes to the former one any more. `reached`: where
 * types go on. Instants in ms since 1970.
 */
export type Reconciliation = {
  readonly former: string
  readonly since: number
  readonly at: number
  readonly reached?: Readonly<Record<string, ReconciliationProgress>>
}
/** `share`: of all there is to look through, from 0 to 1. */
export type ReconciliationProgress = { readonly tenant: string; readonly after?: HistoryPosition; readonly share: number }

export type IndexState = Omit<Definitions, 'rebuilds'> & {
  readonly rebuilds: readonly PendingRebuild[]
  /** Absent before the first deployment. */
  readonly live?: ServingIndices
  /** The store whose versions the documents are of, by its name. */
  readonly store?: string
  /** What documents are made with. */
  readonly extraction?: string
  /** Types whose live index is not, or not all, made with it, or lacks something: what it was made with. */
  readonly behind?: Readonly<Record<string, IndexFormat>>
  /** By type, the index that the live one took the place of. */
  readonly kept?: Readonly<Record<string, PreviousIndex>>
  /** When the store was set back the last time, ms since 1970. */
  readonly setBackAt?: number
  /** Until the index is no longer ahead of a store that was set back. */
  readonly setBack?: Reconciliation
  /** The execution that rebuilds, and when it last said so: ms since 1970. */
  readonly worker?: { readonly execution: string; readonly at: number }
}

export type SharedIndexState = SharedState<IndexState>

export const NO_STATE: IndexState = NO_DEFINITIONS

/** Bytes, deflated: who keeps the state may have 400 kB for it, of which what is under way takes some. */
const MOST_BYTES = 300_000
/** Of what one tenant defines: nobody alone leaves no room. */
const MOST_OF_TENANT = 150_000

function isRoomFor(kept: unknown, most = MOST_BYTES): boolean {
  const text = JSON.stringify(kept)
  return text.length <= most / 2 || deflateRawSync(text).length <= most
}

const ofTenant = ({ definitions }: IndexState, tenant: string) => definitions.filter((each) => each.tenant === tenant)

/** A worker that has not been heard of for so long is gone: ms. */
export const WORKER_TIMEOUT_MS = 20 * 60_000

/** Changes of definitions leave everything else as it is. */
const on = (state: IndexState, change: (definitions: Definitions) => Definitions): IndexState => {
  const changed = change(state)
  return changed === state ? state : { ...state, ...changed }
}

/** Where the state has no room for what it defines it defines nothing, as where a tenant defines too much. */
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

/** The tenant's documents of the types are made again, where they are. Overloaded: as many wait for that as can. */
export function requestRebuild(state: IndexState, tenant: string, types: readonly string[]): IndexState {
  const after = on(state, (each) => addRebuild(each, tenant, types, true))
  if (after.rebuilds.length > state.rebuilds.length && !isRoomFor(after)) throw new Overloaded('too many rebuilds are waiting')
  return after
}

/** The documents of all tenants are, in new indices. */
export const requestNewIndices = (state: IndexState, types: readonly string[]): IndexState =>
  on(state, (each) => addRebuild(each, '', types))

/** Whether somebody is wanted who rebuilds. */
export const isWorkerNeeded = ({ rebuilds, setBack }: IndexState): boolean => rebuilds.length > 0 || setBack !== undefined

export const isWorkerGone = ({ worker }: IndexState, now: number): boolean => worker === undefined || now - worker.at > WORKER_TIMEOUT_MS

/** The execution takes all that is wanted, unless another one is at it: that one will. With nothing left to do it is no worker any more. */
export function takeRebuilds(state: IndexState, execution: string, now: number): IndexState {
  if (state.worker?.execution !== execution && !isWorkerGone(state, now)) return state
  if (state.rebuilds.length === 0) return state.worker === undefined ? state : withoutWorker(state)
  const attempt = `${execution}~${now}`
  return { ...state, worker: { execution, at: now }, rebuilds: state.rebuilds.map((each) => ({ ...each, taken: attempt, done: 0 })) }
}

/** The execution does nothing more. */
export const releaseWorker = (state: IndexState, execution: string): IndexState =>
  state.worker?.execution === execution ? withoutWorker(state) : state

const withoutWorker = ({ worker: _, ...rest }: IndexState): IndexState => rest

/** The types of an attempt that are still wanted as they were when it began. */
export const rebuildsOfAttempt = ({ rebuilds }: IndexState, attempt: string): readonly PendingRebuild[] =>
  rebuilds.filter(({ taken }) => taken === attempt)

/** What of the attempt is about the type ends: whoever takes next takes it anew. */
export const restartRebuild = (state: IndexState, attempt: string, type: string): IndexState => ({
  ...state,
  rebuilds: state.rebuilds.map((each) => (each.type === type && each.taken === attempt ? withoutAttempt(each) : each)),
})

export const withoutAttempt = ({ taken: _, ...rebuild }: PendingRebuild): PendingRebuild => rebuild

/** `counts`: the documents that were made, by tenant. */
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

/** All documents of the type are made, if nobody has defined anything about it since. */
export const finishAttempt = (state: IndexState, attempt: string, type: string): IndexState =>
  rebuildsOfAttempt(state, attempt)
    .filter((each) => each.type === type)
    .reduce((now, each) => on(now, (definitions) => finishRebuild(definitions, each)), state)

/** What people of the tenant are told. `live`, `setBack`: of a state that has them. */
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
  unreadable: poisoned.filter((each) => each.tenant === tenant).map(({ type, id, versionId, reason }) => ({ type, id, versionId, reason })),
})

/** Types that are looked through behind a store that was set back: how far, in hundredths. */
const caughtUp = (live: ServingIndices | undefined, setBack: Reconciliation | undefined) =>
  (live?.ahead ?? [])
    .filter((type) => !live?.lacking.includes(type))
    .map((type) => ({ type, done: Math.floor(100 * (setBack?.reached?.[type]?.share ?? 0)), total: 100, isSearched: false }))

/** How many documents all tenants have together is nobody's affair. */
const inHundredths = (rebuild: Rebuild): Rebuild =>
  rebuild.total > 0 ? { ...rebuild, done: Math.floor((100 * rebuild.done) / rebuild.total), total: 100 } : { ...rebuild, done: 0 }
