/**
 * Reconciles the index with a store after a point-in-time restore (restore.ts). Finds the resources that were written to the former store
 * since the restored instant, type by type. Creates their documents again from the current versions of the restored store.
 */
import { forEachInParallel } from '../../ports/execution/parallel.ts'
import type { IndexDocument } from '../../ports/search/search-index.ts'
import { isServing } from '../../ports/search/serving-indices.ts'
import { nameOf } from '../../ports/store/newest-versions.ts'
import type { DamagedVersion, HistoryPosition, ResourceReader, ResourceVersion } from '../../ports/store/resource-store.ts'
import type { StoredTenants } from '../../ports/store/tenants.ts'
import type { SearchContext } from '../../search/search-context.ts'
import { forgetUnindexable } from '../lifecycle/definitions.ts'
import { recordFollowedVersions } from '../lifecycle/index-retention.ts'
import { checkEpoch, finishReconciliation, placeholderDeletion, recordReconciled, takeReconciliation } from '../lifecycle/restore.ts'
import { markLost } from '../lifecycle/serving-indices.ts'
import { changeByTenant } from '../lifecycle/shared-index-state.ts'
import { type IndexState, type Reconciliation, type SharedIndexState, typesWith } from '../lifecycle/state.ts'
import type { Reached } from '../lifecycle/type-index.ts'
import { TenantSearchContexts } from '../tenant-search-contexts.ts'
import { type BackfillParts, backfillDocuments } from './document-backfill.ts'

/**
 * Maximum time after the restore, in milliseconds, for the history of the former store to become complete up to the restore. A history ends
 * some seconds in the past, and an open transaction can delay it further. A type whose history is still incomplete then is rebuilt.
 */
const SHOWN = 60_000
/** Pause in seconds before an incomplete history is read again. */
const AGAIN = 3
const PAGE = 500

/** The store from before the restore. */
type Former = Pick<ResourceReader, 'history'> & StoredTenants

export type ReconciliationParts = BackfillParts & {
  readonly state: SharedIndexState
  readonly epoch: number
  readonly resources: Pick<ResourceReader, 'heads'>
  /** Opens the store from before a restore, by its name. */
  readonly former: (name: string) => Former
  readonly index: {
    /** Writes documents to the serving indices. Also replaces documents of the same version. */
    readonly applyAgain: (documents: readonly IndexDocument[]) => Promise<void>
    /** Makes all applied documents of the type visible to searches. */
    readonly show: (type: string) => Promise<void>
  }
  readonly reading: SearchContext
  /** Document format of this code. */
  readonly extraction: string
  /** Returns a new identity for an index that is rebuilt. */
  readonly newIdentity: () => string
  readonly now: () => number
  /** Time in milliseconds after which `reconcile` reads no further page. It then saves its progress. */
  readonly budget: number
}

/** Number of types reconciled concurrently. One type reads while another builds documents or waits for the index. */
const AT_ONCE = 4

type Slice = {
  readonly parts: ReconciliationParts
  readonly setBack: Reconciliation
  readonly tenants: readonly string[]
  readonly until: number
}

/**
 * Reconciles types within the time budget, several concurrently. Returns the seconds after which the caller must call it again, or
 * undefined if nothing is left. Also returns undefined, without any work, if another execution is the worker.
 */
export async function reconcile(parts: ReconciliationParts, execution: string): Promise<number | undefined> {
  const { state, epoch, now, budget } = parts
  const until = now() + budget
  const { value } = await state.change((each) => takeReconciliation(each, execution, now()))
  const { setBack, types, worker } = value
  // guard: catch-up-of-one-worker
  if (worker?.execution !== execution || setBack === undefined) return undefined
  checkEpoch(value, epoch)
  const former = parts.former(setBack.former)
  const tenants: string[] = []
  for await (const tenant of former.tenants()) tenants.push(tenant)
  const slice = { parts, setBack, tenants, until }
  let isDone = true
  await forEachInParallel(typesWith(value, 'unreconciled'), AT_ONCE, async (type) => {
    const index = types[type]!
    if (isServing(index) && !(await reconcileType(slice, former, type, index.reached))) isDone = false
    else await ofRestore(slice, (each) => recordReconciled(each, type))
  })
  if (!isDone) return now() < setBack.at + SHOWN ? AGAIN : 0
  await ofRestore(slice, finishReconciliation)
  return undefined
}

/** Applies the change to the state. Does nothing if another restore has been applied meanwhile. */
const ofRestore = ({ parts, setBack }: Slice, change: (state: IndexState) => IndexState) =>
  parts.state.change((each) => (each.setBack?.at === setBack.at ? change(each) : each))

/**
 * Reconciles one type, or requests its rebuild if the former history stays incomplete. Returns false if the type must be continued later,
 * from the progress in the state.
 */
async function reconcileType(slice: Slice, former: Former, type: string, begun: Reached | undefined): Promise<boolean> {
  const { parts, setBack, tenants, until } = slice
  const { now, index } = parts
  for (let i = begun === undefined ? 0 : Math.max(0, tenants.indexOf(begun.tenant)), after = begun?.after; i < tenants.length; ) {
    const tenant = tenants[i]!
    const page = await former.history({ tenant, type }, { since: setBack.since, placesOnly: true }, after, PAGE)
    if (page.until !== undefined && page.until < setBack.at) return now() < setBack.at + SHOWN ? false : makeAnew(parts, type)
    await remake(parts, page.versions)
    after = page.more ? page.versions.at(-1) : undefined
    if (!page.more) i++
    if (i === tenants.length || now() < until) continue
    const share = shareOf(setBack, after, [i, tenants.length])
    const reached = { tenant: tenants[i]!, share, ...(after && { after: placeOf(after) }) }
    await ofRestore(slice, (each) => recordReconciled(each, type, reached))
    return false
  }
  // guard: index-is-shown-after-catch-up
  await index.show(type)
  return true
}

/**
 * Returns the completed share of the work: the completed tenants plus a part of the current one. A history starts with the latest version,
 * so that part is the time span from `at` back to `after`.
 */
function shareOf(
  { since, at }: Reconciliation,
  after: HistoryPosition | undefined,
  [done, all]: readonly [done: number, all: number],
): number {
  const part = after === undefined ? 0 : Math.min(1, Math.max(0, (at - after.lastUpdated) / (at - since)))
  return (done + part) / all
}

const placeOf = ({ lastUpdated, type, id, versionId }: HistoryPosition): HistoryPosition => ({ lastUpdated, type, id, versionId })

async function makeAnew({ state, newIdentity }: ReconciliationParts, type: string): Promise<true> {
  const fresh = newIdentity()
  await state.change((each) => markLost(each, { [type]: each.types[type]?.identity }, fresh))
  return true
}

/**
 * Creates the documents of these resources again from the restored store. A resource that the store lacks gets the document of a deletion
 * with version 0, so that any later version replaces it.
 */
async function remake(parts: ReconciliationParts, versions: readonly ResourceVersion[]): Promise<void> {
  if (versions.length === 0) return
  const { state, epoch, extraction, resources, reading, index } = parts
  const keys = [...new Map(versions.map((version) => [nameOf(version), version])).values()]
  const heads = await resources.heads(keys.map(({ tenant, type, id }) => ({ tenant, type, id })))
  const current = keys.map((key, i) => currentOf(key, heads[i]))
  // Remove the entries for unindexable versions of these resources, because the restored store may lack those versions. A new failure adds
  // an entry.
  const { value } = await changeByTenant(
    state,
    current,
    (each, some) => forgetUnindexable(recordFollowedVersions(each, some, extraction), new Set(some.map(nameOf))),
    ['definitions', 'poisoned'],
  )
  checkEpoch(value, epoch)
  const readings = new TenantSearchContexts(reading, 'documents')
  await backfillDocuments(
    parts,
    { reading: (tenant) => readings.of(value, tenant), apply: (documents) => index.applyAgain(documents) },
    current,
  )
}

function currentOf(key: ResourceVersion, head: ResourceVersion | DamagedVersion | undefined): ResourceVersion {
  if (head === undefined) return placeholderDeletion(key)
  if (!('damage' in head)) return head
  return { ...placeholderDeletion(key), versionId: head.versionId, deleted: head.deleted }
}
