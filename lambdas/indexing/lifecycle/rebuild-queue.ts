/** Pending rebuilds, and the worker that performs them, in the index state that all processes share. Changes are pure functions. */
import { MachineFault } from '../../ports/faults.ts'
import { addRebuild, finishRebuild } from '../custom-definitions.ts'
import { type IndexState, type PendingRebuild, withDefinitions } from './state.ts'
import { encode, isRoomFor } from './stored-state.ts'

/** Time without a report after which another execution may replace the worker, in milliseconds. */
export const WORKER_TIMEOUT_MS = 20 * 60_000

/**
 * Requests a rebuild of the tenant's documents. `isInPlace`: in the serving indices. Otherwise each type gets a new index, with the documents
 * of all tenants. Throws the fault `overloaded` if the list of rebuilds grows and the root would exceed its maximum size. A row has room for
 * the rebuilds of its tenant.
 */
export function requestRebuild(state: IndexState, tenant: string, types: readonly string[], isInPlace = true): IndexState {
  const after = withDefinitions(state, (each) => addRebuild(each, tenant, types, isInPlace))
  if (!after.rows && after.rebuilds.length > state.rebuilds.length && !isRoomFor(encode(after)))
    throw new MachineFault('overloaded', 'too many rebuilds are waiting')
  return after
}

/** Requests a new index of each type, with the documents of all tenants. */
export const requestNewIndices = <State extends IndexState>(state: State, types: readonly string[]): State =>
  withDefinitions(state, (each) => addRebuild(each, '', types))

/** Whether rebuilds or a reconciliation are pending. */
export const isWorkerNeeded = ({ rebuilds, setBack }: IndexState): boolean => rebuilds.length > 0 || setBack !== undefined

export const isWorkerGone = ({ worker }: IndexState, now: number): boolean => worker === undefined || now - worker.at > WORKER_TIMEOUT_MS

/** `steps`: maximum steps of an execution. */
type WorkerExecution = { readonly execution: string; readonly width: number; readonly steps: number }

/**
 * Makes the execution the worker, and assigns the rebuilds of types without an attempt to it as one attempt. Attempts that another execution
 * began continue. Changes nothing if another execution is the worker and has reported within WORKER_TIMEOUT_MS, because that one takes the
 * rebuilds later. Removes the worker if no rebuild is pending, or if it has reached the maximum number of steps.
 */
export function takeRebuilds(state: IndexState, { execution, width, steps: maxSteps }: WorkerExecution, now: number): IndexState {
  const { worker, rebuilds } = state
  if (worker?.execution !== execution && !isWorkerGone(state, now)) return state
  const before = worker?.execution === execution ? (worker.steps ?? 0) : 0
  if (rebuilds.length === 0 || before >= maxSteps) return worker === undefined ? state : withoutWorker(state)
  const attempt = `${execution}~${now}~${before}`
  const begun = new Set(rebuilds.flatMap(({ type, taken }) => (taken === undefined ? [] : type)))
  const attempts = rebuilds.flatMap(({ type }) => (begun.has(type) ? [] : [[type, attempt] as const]))
  return {
    ...state,
    worker: { execution, at: now, steps: before + 1, width },
    attempts: { ...state.attempts, ...Object.fromEntries(attempts) },
    rebuilds: rebuilds.map((each) => (begun.has(each.type) ? each : { ...each, taken: attempt, done: 0, total: -1 })),
  }
}

/** Returns when the attempt began, in ms since 1970. */
export const attemptTimeOf = (attempt: string): number => Number(attempt.split('~')[1] ?? 0)

export const isWorker = ({ worker }: IndexState, execution: string): boolean => worker?.execution === execution

/** Removes the worker from the state if it is this execution. */
export const releaseWorker = (state: IndexState, execution: string): IndexState =>
  state.worker?.execution === execution ? withoutWorker(state) : state

const withoutWorker = ({ worker: _, ...rest }: IndexState): IndexState => rest

/** Returns the rebuilds that the attempt still has to perform. Rebuilds that were requested again since it began are not among them. */
export const rebuildsOfAttempt = ({ rebuilds }: IndexState, attempt: string): readonly PendingRebuild[] =>
  rebuilds.filter(({ taken }) => taken === attempt)

/** Detaches the rebuilds of the type from the attempt. The next attempt performs them from the first document. */
export const restartRebuild = (state: IndexState, attempt: string, type: string): IndexState => ({
  ...(state.attempts?.[type] === attempt ? withoutAttempts(state, [type]) : state),
  rebuilds: state.rebuilds.map((each) => (each.type === type && each.taken === attempt ? withoutAttempt(each) : each)),
})

/** Detaches the rebuilds of these types from their attempts in the rows of tenants, also those that the state does not hold. */
export const withoutAttempts = ({ attempts, ...state }: IndexState, types: readonly string[]): IndexState =>
  attempts === undefined
    ? state
    : { ...state, attempts: Object.fromEntries(Object.entries(attempts).filter(([type]) => !types.includes(type))) }

/** Detaches all rebuilds from their attempts, also those that the state does not hold. */
export const restartAllRebuilds = ({ attempts: _, ...state }: IndexState): IndexState => ({
  ...state,
  rebuilds: state.rebuilds.map(withoutAttempt),
})

export const withoutAttempt = ({ taken: _, ...rebuild }: PendingRebuild): PendingRebuild => ({ ...rebuild, done: 0, total: -1 })

/** Records a step of the worker, which reports at `now`. */
export const recordStep = (state: IndexState, now: number): IndexState =>
  state.worker === undefined ? state : { ...state, worker: { ...state.worker, at: now, steps: (state.worker.steps ?? 0) + 1 } }

/**
 * Adds documents to the progress of the attempt. `counts`: number of documents created since the last call, by tenant. `tenants`: changes only
 * their rebuilds.
 */
export const recordRebuildProgress = (state: IndexState, attempt: string, type: string, counts: Counts, tenants?: Tenants): IndexState =>
  withRebuilds(state, { attempt, type, tenants }, (each) => ({ ...each, done: each.done + countOf(each, counts) }))

/**
 * Records the number of documents by tenant that the attempt has to create. `totals`: undefined if it is unknown. `tenants`: changes only
 * their rebuilds.
 */
export const recordTotals = (state: IndexState, attempt: string, type: string, totals: Counts | undefined, tenants?: Tenants): IndexState =>
  withRebuilds(state, { attempt, type, tenants }, (each) => ({ ...each, total: totals === undefined ? -1 : countOf(each, totals) }))

type Counts = ReadonlyMap<string, number>
type Tenants = ReadonlySet<string>

function withRebuilds(
  state: IndexState,
  { attempt, type, tenants }: { readonly attempt: string; readonly type: string; readonly tenants: Tenants | undefined },
  change: (rebuild: PendingRebuild) => PendingRebuild,
): IndexState {
  const isMine = (each: PendingRebuild) => each.type === type && each.taken === attempt && tenants?.has(each.tenant) !== false
  return { ...state, rebuilds: state.rebuilds.map((each) => (isMine(each) ? change(each) : each)) }
}

/** Returns the documents of the rebuild's tenant, or of all tenants. */
const countOf = ({ tenant }: PendingRebuild, counts: Counts): number =>
  tenant === '' ? [...counts.values()].reduce((sum, each) => sum + each, 0) : (counts.get(tenant) ?? 0)

/**
 * Finishes the rebuilds of the type that belong to the attempt. A rebuild that was requested again since it began stays pending. `tenants`:
 * finishes only their rebuilds.
 */
export const finishAttempt = (state: IndexState, attempt: string, type: string, tenants?: Tenants): IndexState =>
  rebuildsOfAttempt(state, attempt)
    .filter((each) => each.type === type && tenants?.has(each.tenant) !== false)
    .reduce((now, each) => withDefinitions(now, (definitions) => finishRebuild(definitions, each)), state)
