/** Pending rebuilds and their worker, in the state that all processes share. Changes are pure. */
import { MachineFault } from '../../ports/faults.ts'
import { addRebuild, finishRebuild } from '../custom-definitions.ts'
import { type IndexState, type PendingRebuild, withDefinitions } from './state.ts'
import { encode, isRoomFor } from './stored-state.ts'

/** Time without a report after which a worker counts as gone, in milliseconds. */
export const WORKER_TIMEOUT_MS = 20 * 60_000

/**
 * Requests a rebuild of the tenant's documents in the serving indices. Throws the fault `overloaded` if the state has no room for more
 * rebuilds.
 */
export function requestRebuild(state: IndexState, tenant: string, types: readonly string[]): IndexState {
  const after = withDefinitions(state, (each) => addRebuild(each, tenant, types, true))
  if (after.rebuilds.length > state.rebuilds.length && !isRoomFor(encode(after)))
    throw new MachineFault('overloaded', 'too many rebuilds are waiting')
  return after
}

/** Requests a new index of each type, with the documents of all tenants. */
export const requestNewIndices = <State extends IndexState>(state: State, types: readonly string[]): State =>
  withDefinitions(state, (each) => addRebuild(each, '', types))

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
    .reduce((now, each) => withDefinitions(now, (definitions) => finishRebuild(definitions, each)), state)
