/**
 * A store that was set back to an earlier time: until the documents of what was written since are made again, by what it has now, their types
 * are not searched (reconciliation.ts). Which those are the store knows that was there before; where it is gone, all documents are made anew.
 */
import { isServing } from '../ports/search/serving-indices.ts'
import { nameOf } from '../ports/store/newest-versions.ts'
import type { ResourceKey, ResourceReader, ResourceVersion } from '../ports/store/resource-store.ts'
import type { StoredTenants } from '../ports/store/tenants.ts'
import type { IndexState } from './index-state.ts'
import { type IdentifiedState, markLost, withIdentity } from './serving-indices.ts'

/**
 * `store`: the one that counts now, by its name. `instant`: to which it was set back: ms since 1970. `former`: the one that was there before;
 * absent: it is gone.
 */
export type Restore = { readonly epoch: number; readonly store: string; readonly instant: number; readonly former?: string }

/** ms. What the index had not come to yet is as old as the stream at most; and a large transaction is stamped before it is committed. */
const STREAM_KEEPS = 24 * 60 * 60_000
const STAMPED_BEFORE = 60 * 60_000

/** How many times the store was set back that the state is of. */
export const epochOf = ({ live }: IndexState): number => live?.epoch ?? 0

/** Error: the state is of another epoch: whoever reads the store may read another than the index is made of. */
export function checkEpoch(state: IndexState, epoch: number): void {
  // guard: restore-of-other-generation
  if (epochOf(state) !== epoch) throw new Error(`the index is of epoch ${epochOf(state)}, this function of ${epoch}`)
}

/** As `identified`; but who knows of no index where the store was set back has lost what was known: there may be one. */
export const withRestoredIdentity = (epoch: number, state: IndexState, fresh: string): IdentifiedState =>
  withIdentity(epoch > 0 && state.live === undefined ? { extraction: 'unknown', ...state } : state, fresh)

/** RangeError for one that does not follow from what was there. `fresh`: the identity of indices that are made anew. */
export function applyRestore(state: IdentifiedState, restore: Restore, fresh: string, now: number): IdentifiedState {
  const { epoch, store, instant, former } = restore
  mustFollow(state, restore)
  if (epoch === epochOf(state)) return state.store === store ? state : { ...state, store }
  // Whoever is at something began it with what there was before.
  const { worker: _, setBack: __, ...rest } = state
  const rebuilds = state.rebuilds.map(({ taken: _, ...each }) => ({ ...each, done: 0 }))
  const begun: IdentifiedState = { ...rest, rebuilds, store, setBackAt: now, live: { ...state.live, epoch, ahead: [] } }
  const live = Object.entries(state.live.types).filter(([type]) => isServing(state.live, type))
  if (former === undefined) return markLost(begun, Object.fromEntries(live), fresh)
  // What was not caught up with before no longer follows from the store that was there last.
  const unsure = live.filter(([type]) => state.live.ahead?.includes(type))
  const after = markLost(begun, Object.fromEntries(unsure), fresh)
  const ahead = live.map(([type]) => type).filter((type) => isServing(after.live, type))
  const since = Math.min(instant, now - STREAM_KEEPS) - STAMPED_BEFORE
  return { ...after, live: { ...after.live, ahead }, setBack: { former, since, at: now } }
}

/** What another store was told the index has, and what this one was told it lacks: neither may pass for the other unnoticed. */
function mustFollow(state: IdentifiedState, { epoch, store, former }: Restore): void {
  const { store: known = store } = state
  if (epoch < epochOf(state)) throw new RangeError(`epoch ${epoch} is over: the index is of ${epochOf(state)}, each restore has one more`)
  // guard: restored-store-is-recognised
  if (epoch === epochOf(state) && store !== known)
    throw new RangeError(`the index is of ${known} in epoch ${epoch}: ${store} is another table, and has one more`)
  if (epoch > epochOf(state) && former !== undefined && state.store !== undefined && former !== state.store)
    throw new RangeError(`the index is of ${state.store}, and not of ${former}: without restored.former all documents are made again`)
}

/** ms for which a function of before may still write to the store there was. */
const EXCHANGED = 60 * 60_000

/**
 * From when on, ms since 1970, nothing was written that another store than this one knows of; that of a function of another epoch does not count
 * yet, or no more.
 */
export function exclusiveInstantOf(state: IndexState, epoch: number): number {
  // guard: restore-delay-of-other-generation
  if (epochOf(state) !== epoch) return Number.POSITIVE_INFINITY
  return epoch === 0 ? 0 : (state.setBackAt ?? Number.POSITIVE_INFINITY) + EXCHANGED
}

/** All SearchParameters as they are now, and a deletion of each that defines something and is not there: what they define follows from these. */
export async function readSearchParameters(
  { definitions }: Pick<IndexState, 'definitions'>,
  { resources, now }: { readonly resources: Pick<ResourceReader, 'scan'> & StoredTenants; readonly now: number },
): Promise<readonly ResourceVersion[]> {
  const found: ResourceVersion[] = []
  // What they define stays.
  const unread: ResourceKey[] = []
  for await (const tenant of resources.tenants())
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
  const there = new Set([...found, ...unread].map(nameOf))
  const keys = definitions.map(({ tenant, id }) => ({ tenant, type: PARAMETER, id }))
  return [...found, ...keys.filter((key) => !there.has(nameOf(key))).map((key) => placeholderDeletion({ ...key, lastUpdated: now }))]
}

const PARAMETER = 'SearchParameter'
const PAGE = 500

/** A deletion that any version comes after. */
export const placeholderDeletion = ({
  tenant,
  type,
  id,
  lastUpdated,
}: Pick<ResourceVersion, 'tenant' | 'type' | 'id' | 'lastUpdated'>): ResourceVersion => ({
  ...{ tenant, type, id, lastUpdated, versionId: 0, deleted: true, compartments: [] },
  body: new Uint8Array(),
})
