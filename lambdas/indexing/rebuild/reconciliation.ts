/**
 * Reconciles the index with a store that was restored to an earlier time (restore.ts). Finds the resources that were written to the former
 * store since then, type by type. Creates their documents again from the current versions of the restored store.
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
import { type IndexState, type Reconciliation, type SharedIndexState, typesWith } from '../lifecycle/state.ts'
import type { Reached } from '../lifecycle/type-index.ts'
import { TenantSearchContexts } from '../tenant-search-contexts.ts'
import { type BackfillParts, backfillDocuments } from './document-backfill.ts'

/**
 * Time in milliseconds after which a history shows all versions stamped before, unless an open transaction hides them. Every history ends
 * some seconds in the past.
 */
const SHOWN = 60_000
/** Seconds until the history is read again. */
const AGAIN = 3
const PAGE = 500

/** A store from before a restore. */
type Former = Pick<ResourceReader, 'history'> & StoredTenants

export type ReconciliationParts = BackfillParts & {
  readonly state: SharedIndexState
  readonly epoch: number
  readonly resources: Pick<ResourceReader, 'heads'>
  /** Opens a store from before a restore, by its name. */
  readonly former: (name: string) => Former
  readonly index: {
    /** Indexes documents in the serving indices, and also replaces documents of the same version. */
    readonly applyAgain: (documents: readonly IndexDocument[]) => Promise<void>
    /** Makes all applied documents of the type visible to searches. */
    readonly show: (type: string) => Promise<void>
  }
  readonly reading: SearchContext
  /** Document format of this code. */
  readonly extraction: string
  /** Returns an identity for an index that is rebuilt. */
  readonly newIdentity: () => string
  readonly now: () => number
  /** Time in milliseconds after which `reconcile` stops and saves its progress. */
  readonly budget: number
}

/** Number of types reconciled at once. One type reads while another builds documents or waits for the index. */
const AT_ONCE = 4

type Slice = {
  readonly parts: ReconciliationParts
  readonly setBack: Reconciliation
  readonly tenants: readonly string[]
  readonly until: number
}

/**
 * Reconciles as many types as the time budget allows, several concurrently. Returns the seconds after which it must continue, or undefined
 * if nothing is left. Does nothing and returns undefined if the execution is not the worker.
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

/** Changes the state unless another restore has come meanwhile. */
const ofRestore = ({ parts, setBack }: Slice, change: (state: IndexState) => IndexState) =>
  parts.state.change((each) => (each.setBack?.at === setBack.at ? change(each) : each))

/** Reconciles one type. Returns false if it must continue later, from the progress in the state. */
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
 * Returns the completed share of the work: completed tenants, and the completed time span of the current one. A history starts with the
 * latest version.
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
 * Creates the documents of these resources again from the restored store. A resource that the store lacks gets a deletion that any version
 * supersedes.
 */
async function remake(parts: ReconciliationParts, versions: readonly ResourceVersion[]): Promise<void> {
  if (versions.length === 0) return
  const { state, epoch, extraction, resources, reading, index } = parts
  const keys = [...new Map(versions.map((version) => [nameOf(version), version])).values()]
  const heads = await resources.heads(keys.map(({ tenant, type, id }) => ({ tenant, type, id })))
  const current = keys.map((key, i) => currentOf(key, heads[i]))
  // The store may have lost the versions that are listed as unindexable.
  const { value } = await state.change((each) =>
    forgetUnindexable(recordFollowedVersions(each, current, extraction), new Set(keys.map(nameOf))),
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
