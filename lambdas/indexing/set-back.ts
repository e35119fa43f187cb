/**
 * A store that was set back to an earlier time: until the documents of what was written since are made again, by what it has now, their types
 * are not searched. Which those are the store knows that was there before; where it is gone, all documents are made anew.
 */
import type { KnownTenants } from '../ports/known-tenants.ts'
import { isLive } from '../ports/live-indices.ts'
import { nameOf } from '../ports/newest-of.ts'
import type { DamagedVersion, HistoryPosition, ResourceReader, ResourceVersion } from '../ports/resource-store.ts'
import type { IndexDocument } from '../ports/search-index.ts'
import type { Reading } from '../search/reading.ts'
import { type IndexState, isWorkerGone, type Reached, type SetBack, type SharedState } from './index-state.ts'
import { followed } from './kept-indices.ts'
import { type Identified, identified, lost } from './live-indices.ts'
import { type MakingParts, makeAgain } from './make-again.ts'
import { Readings } from './reading-now.ts'

/**
 * `store`: the one that counts now, by its name. `instant`: to which it was set back: ms since 1970. `former`: the one that was there before;
 * absent: it is gone.
 */
export type Restore = { readonly epoch: number; readonly store: string; readonly instant: number; readonly former?: string }

/** ms. What the index had not come to yet is as old as the stream at most; and a large transaction is stamped before it is committed. */
const STREAM_KEEPS = 24 * 60 * 60_000
const STAMPED_BEFORE = 60 * 60_000
/** ms. A history since an instant ends some seconds ago in any case. */
const SHOWN_LATE = 60_000

/** How many times the store was set back that the state is of. */
export const epochOf = ({ live }: IndexState): number => live?.epoch ?? 0

/** Error: the state is of another epoch: whoever reads the store may read another than the index is made of. */
export function mustBeOf(state: IndexState, epoch: number): void {
  if (epochOf(state) !== epoch) throw new Error(`the index is of epoch ${epochOf(state)}, this function of ${epoch}`)
}

/** As `identified`; but who knows of no index where the store was set back has lost what was known: there may be one. */
export const identifiedIn = (epoch: number, state: IndexState, fresh: string): Identified =>
  identified(epoch > 0 && state.live === undefined ? { extraction: 'unknown', ...state } : state, fresh)

/** RangeError for one that does not follow from what was there. `fresh`: the identity of indices that are made anew. */
export function setBack(state: Identified, restore: Restore, fresh: string, now: number): Identified {
  const { epoch, store, instant, former } = restore
  mustFollow(state, restore)
  if (epoch === epochOf(state)) return state.store === store ? state : { ...state, store }
  // Whoever is at something began it with what there was before.
  const { worker: _, setBack: __, ...rest } = state
  const rebuilds = state.rebuilds.map(({ taken: _, ...each }) => ({ ...each, done: 0 }))
  const begun: Identified = { ...rest, rebuilds, store, setBackAt: now, live: { ...state.live, epoch, ahead: [] } }
  const live = Object.entries(state.live.types).filter(([type]) => isLive(state.live, type))
  if (former === undefined) return lost(begun, Object.fromEntries(live), fresh)
  // What was not caught up with before no longer follows from the store that was there last.
  const unsure = live.filter(([type]) => state.live.ahead?.includes(type))
  const after = lost(begun, Object.fromEntries(unsure), fresh)
  const ahead = live.map(([type]) => type).filter((type) => isLive(after.live, type))
  const since = Math.min(instant, now - STREAM_KEEPS) - STAMPED_BEFORE
  return { ...after, live: { ...after.live, ahead }, setBack: { former, since, at: now } }
}

/** What another store was told the index has, and what this one was told it lacks: neither may pass for the other unnoticed. */
function mustFollow(state: Identified, { epoch, store, former }: Restore): void {
  const { store: known = store } = state
  if (epoch < epochOf(state)) throw new RangeError(`epoch ${epoch} is over: the index is of ${epochOf(state)}, each restore has one more`)
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
export function ownSince(state: IndexState, epoch: number): number {
  if (epochOf(state) !== epoch) return Number.POSITIVE_INFINITY
  return epoch === 0 ? 0 : (state.setBackAt ?? Number.POSITIVE_INFINITY) + EXCHANGED
}

/** All SearchParameters as they are now, and a deletion of each that defines something and is not there: what they define follows from these. */
export async function parametersNow(
  { definitions }: Pick<IndexState, 'definitions'>,
  { resources, now }: { readonly resources: Pick<ResourceReader, 'scan'> & KnownTenants; readonly now: number },
): Promise<readonly ResourceVersion[]> {
  const found: ResourceVersion[] = []
  for await (const tenant of resources.tenants())
    for await (const { versions } of resources.scan({ tenant, type: PARAMETER, asOf: now, limit: PAGE })) found.push(...versions)
  const there = new Set(found.map(nameOf))
  const keys = definitions.map(({ tenant, id }) => ({ tenant, type: PARAMETER, id }))
  return [...found, ...keys.filter((key) => !there.has(nameOf(key))).map((key) => gone({ ...key, lastUpdated: now }))]
}

const PARAMETER = 'SearchParameter'
const PAGE = 500

export type CatchUpParts = MakingParts & {
  readonly state: SharedState
  readonly epoch: number
  readonly resources: Pick<ResourceReader, 'heads'>
  /** A store that was there before. */
  readonly former: (name: string) => Pick<ResourceReader, 'history'> & KnownTenants
  readonly index: {
    /** Where they are, also where that version is there already. */
    readonly applyAgain: (documents: readonly IndexDocument[]) => Promise<void>
    /** From now on searches see what was applied. */
    readonly show: (type: string) => Promise<void>
  }
  readonly reading: Reading
  /** What this code makes documents with. */
  readonly extraction: string
  /** Of an index that is made anew. */
  readonly newIdentity: () => string
  readonly now: () => number
  /** Milliseconds it may go on. */
  readonly budget: number
}

/** As many types as there is time for. False: there are more. Who is not the one that rebuilds does nothing. */
export async function catchUp(parts: CatchUpParts, execution: string): Promise<boolean> {
  const { state, now, budget } = parts
  const until = now() + budget
  const { value } = await state.change((each) => workedOn(each, execution, now()))
  if (value.worker?.execution !== execution) return true
  for (let { setBack, live } = value; setBack !== undefined && live !== undefined; ) {
    const [type] = live.ahead ?? []
    if (type !== undefined && isLive(live, type) && !(await catchUpType(parts, setBack, type, until))) return false
    ;({ setBack, live } = (await state.change((each) => (type === undefined ? settled(each) : withoutAhead(each, type)))).value)
  }
  return true
}

const workedOn = (state: IndexState, execution: string, now: number): IndexState =>
  state.setBack !== undefined && (state.worker?.execution === execution || isWorkerGone(state, now))
    ? { ...state, worker: { execution, at: now } }
    : state

const settled = ({ setBack: _, ...state }: IndexState): IndexState => state

function withoutAhead(state: IndexState, type: string): IndexState {
  const { live, setBack } = state
  if (live === undefined || setBack === undefined) return state
  const { reached: _, ...rest } = setBack
  return { ...state, live: { ...live, ahead: (live.ahead ?? []).filter((each) => each !== type) }, setBack: rest }
}

/** False: it goes on from what it has reached, which the state knows. */
async function catchUpType(
  parts: CatchUpParts,
  { former: name, since, at, reached }: SetBack,
  type: string,
  until: number,
): Promise<boolean> {
  const { state, now } = parts
  const former = parts.former(name)
  const begun = reached?.type === type ? reached : undefined
  const goesOn = async (place: Reached) => {
    await state.change((each) => (each.setBack === undefined ? each : { ...each, setBack: { ...each.setBack, reached: place } }))
    return false
  }
  let hasCome = begun === undefined
  for await (const tenant of former.tenants()) {
    hasCome ||= tenant === begun?.tenant
    if (!hasCome) continue
    for (let after = tenant === begun?.tenant ? begun.after : undefined, isMore = true; isMore; ) {
      const page = await former.history({ tenant, type }, { since, placesOnly: true }, after, PAGE)
      // A transaction that was left open hides what came after it.
      if (page.until !== undefined && page.until < at - SHOWN_LATE) return makeAnew(parts, type)
      await remake(parts, page.versions)
      isMore = page.more
      after = page.versions.at(-1)
      if (isMore && now() >= until) return goesOn({ type, tenant, after: placeOf(after!) })
    }
  }
  await parts.index.show(type)
  return true
}

const placeOf = ({ lastUpdated, type, id, versionId }: HistoryPosition): HistoryPosition => ({ lastUpdated, type, id, versionId })

async function makeAnew({ state, newIdentity }: CatchUpParts, type: string): Promise<true> {
  const fresh = newIdentity()
  await state.change((each) => (each.live === undefined ? each : lost(each as Identified, { [type]: each.live.types[type]! }, fresh)))
  return true
}

/** What the store has of them now; of what it has not, a deletion that any version comes after. */
async function remake(parts: CatchUpParts, versions: readonly ResourceVersion[]): Promise<void> {
  if (versions.length === 0) return
  const { state, epoch, extraction, resources, reading, index } = parts
  const keys = [...new Map(versions.map((version) => [nameOf(version), version])).values()]
  const heads = await resources.heads(keys.map(({ tenant, type, id }) => ({ tenant, type, id })))
  const current = keys.map((key, i) => currentOf(key, heads[i]))
  const { value } = await state.change((each) => withoutPoison(followed(each, current, extraction), new Set(keys.map(nameOf))))
  mustBeOf(value, epoch)
  const readings = new Readings(reading, 'documents')
  await makeAgain(parts, { reading: (tenant) => readings.of(value, tenant), apply: (documents) => index.applyAgain(documents) }, current)
}

function currentOf(key: ResourceVersion, head: ResourceVersion | DamagedVersion | undefined): ResourceVersion {
  if (head === undefined) return gone(key)
  if (!('damage' in head)) return head
  return { ...gone(key), versionId: head.versionId, deleted: head.deleted }
}

const gone = ({ tenant, type, id, lastUpdated }: Pick<ResourceVersion, 'tenant' | 'type' | 'id' | 'lastUpdated'>): ResourceVersion => ({
  ...{ tenant, type, id, lastUpdated, versionId: 0, deleted: true, compartments: [] },
  body: new Uint8Array(),
})

/** What could not be read of versions that are no more. */
function withoutPoison(state: IndexState, names: ReadonlySet<string>): IndexState {
  const poisoned = state.poisoned.filter((each) => !names.has(nameOf(each)))
  return poisoned.length === state.poisoned.length ? state : { ...state, poisoned }
}
