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
import { recordFollowedVersions } from '../lifecycle/index-retention.ts'
import { checkEpoch, placeholderDeletion } from '../lifecycle/restore.ts'
import { type IdentifiedState, markLost } from '../lifecycle/serving-indices.ts'
import {
  type IndexState,
  isWorkerGone,
  type Reconciliation,
  type ReconciliationProgress,
  type SharedIndexState,
} from '../lifecycle/state.ts'
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
  const { value } = await state.change((each) => workedOn(each, execution, now()))
  const { setBack, live, worker } = value
  // guard: catch-up-of-one-worker
  if (worker?.execution !== execution || setBack === undefined || live === undefined) return undefined
  checkEpoch(value, epoch)
  const former = parts.former(setBack.former)
  const tenants: string[] = []
  for await (const tenant of former.tenants()) tenants.push(tenant)
  const slice = { parts, setBack, tenants, until }
  const types = live.ahead ?? []
  let isDone = true
  await forEachInParallel(types, AT_ONCE, async (type) => {
    if (isServing(live, type) && !(await catchUpType(slice, former, type))) isDone = false
    else await ofRestore(slice, (each) => withoutAhead(each, type))
  })
  if (!isDone) return now() < setBack.at + SHOWN ? AGAIN : 0
  await ofRestore(slice, (each) => (each.live?.ahead?.length === 0 ? settled(each) : each))
  return undefined
}

/** Changes the state unless another restore has come meanwhile. */
const ofRestore = ({ parts, setBack }: Slice, change: (state: IndexState) => IndexState) =>
  parts.state.change((each) => (each.setBack?.at === setBack.at ? change(each) : each))

const workedOn = (state: IndexState, execution: string, now: number): IndexState =>
  state.setBack !== undefined && (state.worker?.execution === execution || isWorkerGone(state, now))
    ? { ...state, worker: { execution, at: now } }
    : state

const settled = ({ setBack: _, ...state }: IndexState): IndexState => state

function withoutAhead(state: IndexState, type: string): IndexState {
  const { live, setBack } = state
  if (live === undefined || setBack === undefined) return state
  const { [type]: _, ...reached } = setBack.reached ?? {}
  return { ...state, live: { ...live, ahead: (live.ahead ?? []).filter((each) => each !== type) }, setBack: { ...setBack, reached } }
}

/** Reconciles one type. Returns false if it must continue later, from the progress in the state. */
async function catchUpType(slice: Slice, former: Former, type: string): Promise<boolean> {
  const { parts, setBack, tenants, until } = slice
  const { now, index } = parts
  const begun = setBack.reached?.[type]
  for (let i = begun === undefined ? 0 : Math.max(0, tenants.indexOf(begun.tenant)), after = begun?.after; i < tenants.length; ) {
    const tenant = tenants[i]!
    const page = await former.history({ tenant, type }, { since: setBack.since, placesOnly: true }, after, PAGE)
    if (page.until !== undefined && page.until < setBack.at) return now() < setBack.at + SHOWN ? false : makeAnew(parts, type)
    await remake(parts, page.versions)
    after = page.more ? page.versions.at(-1) : undefined
    if (!page.more) i++
    if (i === tenants.length || now() < until) continue
    const place = { tenant: tenants[i]!, share: shareOf(setBack, after, [i, tenants.length]), ...(after && { after: placeOf(after) }) }
    await ofRestore(slice, (each) => goingOn(each, type, place))
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

const goingOn = (state: IndexState, type: string, place: ReconciliationProgress): IndexState =>
  state.setBack === undefined ? state : { ...state, setBack: { ...state.setBack, reached: { ...state.setBack.reached, [type]: place } } }

const placeOf = ({ lastUpdated, type, id, versionId }: HistoryPosition): HistoryPosition => ({ lastUpdated, type, id, versionId })

async function makeAnew({ state, newIdentity }: ReconciliationParts, type: string): Promise<true> {
  const fresh = newIdentity()
  await state.change((each) =>
    each.live === undefined ? each : markLost(each as IdentifiedState, { [type]: each.live.types[type]! }, fresh),
  )
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
  const { value } = await state.change((each) =>
    withoutPoison(recordFollowedVersions(each, current, extraction), new Set(keys.map(nameOf))),
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

/** Removes the unindexable versions of these resources, because the store may have lost them. */
function withoutPoison(state: IndexState, names: ReadonlySet<string>): IndexState {
  const poisoned = state.poisoned.filter((each) => !names.has(nameOf(each)))
  return poisoned.length === state.poisoned.length ? state : { ...state, poisoned }
}
