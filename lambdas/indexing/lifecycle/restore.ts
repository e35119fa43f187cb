/**
 * Applies a point-in-time restore of the store to the index state. All serving types are unsearchable until they are reconciled with the
 * restored store (reconciliation.ts). The reconciliation reads from the former store which resources were written at least since the
 * restored instant. If the former store is gone, all documents are created again.
 */
import { forEachInParallel } from '../../ports/execution/parallel.ts'
import { isServing } from '../../ports/search/serving-indices.ts'
import { nameOf } from '../../ports/store/newest-versions.ts'
import type { ResourceKey, ResourceReader, ResourceVersion } from '../../ports/store/resource-store.ts'
import type { StoredTenants } from '../../ports/store/tenants.ts'
import { isWorkerGone, restartAllRebuilds } from './rebuild-queue.ts'
import { markLost, withIdentity } from './serving-indices.ts'
import { ALL_TENANTS, type IndexState, NO_IDENTITY, typesWith, withTypes } from './state.ts'
import type { Reached, TypeIndex } from './type-index.ts'

/**
 * A point-in-time restore. `epoch`: its restore generation. `store`: name of the restored store. `instant`: instant to which it was
 * restored, in ms since 1970. `former`: name of the store before the restore, absent if that is gone.
 */
export type Restore = { readonly epoch: number; readonly store: string; readonly instant: number; readonly former?: string }

/** How long the change stream retains records, in milliseconds. Versions that the index has not received yet are at most that old. */
const STREAM_KEEPS = 24 * 60 * 60_000
/** How long before its commit a large transaction may stamp its versions, in milliseconds. */
const STAMPED_BEFORE = 60 * 60_000

/** Returns the restore generation of the state: 0 before the first restore. */
export const epochOf = ({ epoch = 0 }: IndexState): number => epoch

/**
 * Throws an Error if the state has another restore generation than `epoch`, that of the calling Lambda function. The function may then read
 * another store than the index is built from.
 */
export function checkEpoch(state: IndexState, epoch: number): void {
  // guard: restore-of-other-generation
  if (epochOf(state) !== epoch) throw new Error(`the index is of epoch ${epochOf(state)}, this function of ${epoch}`)
}

/**
 * Returns the state with an index identity, like `withIdentity`. If the store was restored and the state has no identity, the state was
 * lost while indices may exist. All types are then rebuilt.
 */
export const withRestoredIdentity = (epoch: number, state: IndexState, fresh: string): IndexState =>
  withIdentity(epoch > 0 && state.identity === NO_IDENTITY ? { extraction: 'unknown', ...state } : state, fresh)

/**
 * Applies a restore to the state. Throws RangeError if the restore does not fit the state, see `mustFollow`. If the generation is the same,
 * only records the name of the store. `fresh`: identity of rebuilt indices. `now`: ms since 1970.
 */
export function applyRestore(state: IndexState, restore: Restore, fresh: string, now: number): IndexState {
  const { epoch, store, instant, former } = restore
  mustFollow(state, restore)
  if (epoch === epochOf(state)) return state.store === store ? state : { ...state, store }
  // Remove the worker and the unfinished reconciliation of an earlier restore, and detach rebuilds from attempts that began before this one.
  const { worker: _, setBack: __, ...rest } = restartAllRebuilds(state)
  const settled = withTypes({ ...rest, store, setBackAt: now, epoch }, Object.keys(state.types), reconciled)
  // Rebuild types that cannot be reconciled. Without a former store these are all. Otherwise they are those not yet reconciled after the
  // previous restore, because their differences from that time are not in `former`.
  const unsure = Object.entries(state.types).filter(([, { unreconciled }]) => former === undefined || unreconciled)
  const after = markLost(settled, Object.fromEntries(unsure.map(([type, { identity }]) => [type, identity])), fresh)
  if (former === undefined) return after
  const since = Math.min(instant, now - STREAM_KEEPS) - STAMPED_BEFORE
  return {
    ...withTypes(after, Object.keys(state.types), (index) => (isServing(index) ? { ...index, unreconciled: true } : index)),
    setBack: { former, since, at: now },
  }
}

const reconciled = ({ unreconciled: _, reached: __, ...index }: TypeIndex): TypeIndex => index

/** Makes the execution the worker if a reconciliation is pending and no other execution is an active worker. */
export const takeReconciliation = (state: IndexState, execution: string, now: number): IndexState =>
  state.setBack !== undefined && (state.worker?.execution === execution || isWorkerGone(state, now))
    ? { ...state, worker: { execution, at: now } }
    : state

/** Records the progress of reconciling the type. If `reached` is absent, the type is reconciled and searchable again. */
export const recordReconciled = (state: IndexState, type: string, reached?: Reached): IndexState =>
  withTypes(state, [type], (index) => (reached === undefined ? reconciled(index) : { ...index, reached }))

/** Ends the reconciliation if every type is reconciled. Otherwise changes nothing. */
export function finishReconciliation(state: IndexState): IndexState {
  const { setBack: _, ...rest } = state
  return typesWith(state, 'unreconciled').length === 0 ? rest : state
}

/**
 * Throws RangeError if the generation is lower than that of the state, or if the store changed without a new generation. Also throws it if
 * `former` is not the store of the state. An index must not serve another store, and must not be reconciled with the wrong former store.
 */
function mustFollow(state: IndexState, { epoch, store, former }: Restore): void {
  const { store: known = store } = state
  if (epoch < epochOf(state)) throw new RangeError(`epoch ${epoch} is over: the index is of ${epochOf(state)}, each restore has one more`)
  // guard: restored-store-is-recognised
  if (epoch === epochOf(state) && store !== known)
    throw new RangeError(`the index is of ${known} in epoch ${epoch}: ${store} is another table, and has one more`)
  if (epoch > epochOf(state) && former !== undefined && state.store !== undefined && former !== state.store)
    throw new RangeError(`the index is of ${state.store}, and not of ${former}: without restored.former all documents are made again`)
}

/** Safety margin after a restore, in milliseconds: functions of the previous deployment may still finish writes to the former store. */
const EXCHANGED = 60 * 60_000

/**
 * Returns an instant in ms since 1970. Only this store can refer to large bodies written later, so the sweep may remove those without a
 * reference. Returns 0 before the first restore. Returns Infinity in a function of another restore generation, or if the time of the
 * restore is unknown.
 */
export function exclusiveInstantOf(state: IndexState, epoch: number): number {
  // guard: restore-delay-of-other-generation
  if (epochOf(state) !== epoch) return Number.POSITIVE_INFINITY
  return epoch === 0 ? 0 : (state.setBackAt ?? Number.POSITIVE_INFINITY) + EXCHANGED
}

/**
 * Returns the current SearchParameters of all tenants. Adds a deletion for each that has custom parameters in the state but is missing from
 * the store. Leaves out damaged ones, so that their custom parameters stay.
 */
export async function readSearchParameters(
  { definitions }: Pick<IndexState, 'definitions'>,
  { resources, now }: { readonly resources: Pick<ResourceReader, 'scan'> & StoredTenants; readonly now: number },
): Promise<readonly ResourceVersion[]> {
  const tenants: string[] = []
  for await (const tenant of resources.tenants()) tenants.push(tenant)
  const byTenant = new Map<string, ResourceVersion[]>()
  // Damaged SearchParameters. They exist, so they get no deletion.
  const unread: ResourceKey[] = []
  await forEachInParallel(tenants, TENANTS_AT_ONCE, async (tenant) => {
    const found: ResourceVersion[] = []
    byTenant.set(tenant, found)
    for await (const { versions, damaged = [] } of resources.scan({
      tenant,
      type: PARAMETER,
      asOf: now,
      limit: PAGE,
      tellsDamaged: true,
    })) {
      found.push(...versions)
      unread.push(...damaged)
    }
  })
  // Tenants share the capacity of the index, so the order of their parameters is that of the store.
  const found = tenants.flatMap((tenant) => byTenant.get(tenant)!)
  const there = new Set([...found, ...unread].map(nameOf))
  const ofTenants = definitions.filter(({ tenant }) => tenant !== ALL_TENANTS)
  const keys = ofTenants.map(({ tenant, id }) => ({ tenant, type: PARAMETER, id }))
  return [...found, ...keys.filter((key) => !there.has(nameOf(key))).map((key) => placeholderDeletion({ ...key, lastUpdated: now }))]
}

const PARAMETER = 'SearchParameter'
/** Tenants whose SearchParameters are read at the same time. A migration of 10,000 tenants has five minutes. */
const TENANTS_AT_ONCE = 16
const PAGE = 500

/** Returns a deletion with version 0, which every stored version supersedes. */
export const placeholderDeletion = ({
  tenant,
  type,
  id,
  lastUpdated,
}: Pick<ResourceVersion, 'tenant' | 'type' | 'id' | 'lastUpdated'>): ResourceVersion => ({
  ...{ tenant, type, id, lastUpdated, versionId: 0, deleted: true, compartments: [] },
  body: new Uint8Array(),
})
