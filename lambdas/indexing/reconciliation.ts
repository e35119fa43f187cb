/**
 * Behind a store that was set back (restore.ts): the documents of all keys that were written to the one before are made again, type by type, by
 * what the store has now.
 */
import { forEachInParallel } from '../ports/execution/parallel.ts'
import type { IndexDocument } from '../ports/search/search-index.ts'
import { isServing } from '../ports/search/serving-indices.ts'
import { nameOf } from '../ports/store/newest-versions.ts'
import type { DamagedVersion, HistoryPosition, ResourceReader, ResourceVersion } from '../ports/store/resource-store.ts'
import type { StoredTenants } from '../ports/store/tenants.ts'
import type { SearchContext } from '../search/search-context.ts'
import { type BackfillParts, backfillDocuments } from './document-backfill.ts'
import { recordFollowedVersions } from './index-retention.ts'
import { type IndexState, isWorkerGone, type Reconciliation, type ReconciliationProgress, type SharedIndexState } from './index-state.ts'
import { checkEpoch, placeholderDeletion } from './restore.ts'
import { type IdentifiedState, markLost } from './serving-indices.ts'
import { TenantSearchContexts } from './tenant-search-contexts.ts'

/** By then a history shows all that was stamped before, unless a transaction that was left open hides it: ms. It ends some seconds ago in any case. */
const SHOWN = 60_000
/** Seconds after which it may. */
const AGAIN = 3
const PAGE = 500

/** A store that was there before. */
type Former = Pick<ResourceReader, 'history'> & StoredTenants

export type ReconciliationParts = BackfillParts & {
  readonly state: SharedIndexState
  readonly epoch: number
  readonly resources: Pick<ResourceReader, 'heads'>
  /** A store that was there before. */
  readonly former: (name: string) => Former
  readonly index: {
    /** Where they are, also where that version is there already. */
    readonly applyAgain: (documents: readonly IndexDocument[]) => Promise<void>
    /** From now on searches see what was applied. */
    readonly show: (type: string) => Promise<void>
  }
  readonly reading: SearchContext
  /** What this code makes documents with. */
  readonly extraction: string
  /** Of an index that is made anew. */
  readonly newIdentity: () => string
  readonly now: () => number
  /** Milliseconds it may go on. */
  readonly budget: number
}

/** Types at once: one reads while another makes documents, or waits for the index. */
const AT_ONCE = 4

type Slice = {
  readonly parts: ReconciliationParts
  readonly setBack: Reconciliation
  readonly tenants: readonly string[]
  readonly until: number
}

/**
 * As many types as there is time for, several side by side. Seconds after which it goes on; undefined: there is no more. Who is not the one that
 * rebuilds does nothing.
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

/** Unless another restore came meanwhile. */
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

/** False: it goes on from what it has reached, which the state knows. */
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

/** Of all there is to look through: tenants, and the time of the one that is under way, of which the latest comes first. */
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

/** What the store has of them now; of what it has not, a deletion that any version comes after. */
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

/** What could not be read of versions that are no more. */
function withoutPoison(state: IndexState, names: ReadonlySet<string>): IndexState {
  const poisoned = state.poisoned.filter((each) => !names.has(nameOf(each)))
  return poisoned.length === state.poisoned.length ? state : { ...state, poisoned }
}
