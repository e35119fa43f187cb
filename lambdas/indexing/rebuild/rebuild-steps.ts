/**
 * Steps of the rebuild workflow (workflow.ts). The workflow may repeat each step. Input and results hold types and cursors, never resource
 * content.
 */
import type { ResourceVersion, ScanRequest } from '../../ports/store/resource-store.ts'
import { clearUnindexable } from '../lifecycle/definitions.ts'
import { recordListed } from '../lifecycle/identifier-rows.ts'
import {
  isOutdated,
  isWorthRetaining,
  previousNamesOf,
  rebuildPathOf,
  recordFollowedVersions,
  recordInPlaceRebuild,
  replaceIndex,
  withoutExpiredIndices,
  withoutPreviousIndex,
} from '../lifecycle/index-retention.ts'
import { finishAttempt, rebuildsOfAttempt, recordRebuildProgress, releaseWorker, takeRebuilds } from '../lifecycle/rebuild-queue.ts'
import { checkEpoch } from '../lifecycle/restore.ts'
import { markServing } from '../lifecycle/serving-indices.ts'
import type { IndexState } from '../lifecycle/state.ts'
import { TenantSearchContexts } from '../tenant-search-contexts.ts'
import { type BackfillTarget, backfillDocuments, readWithoutContent } from './document-backfill.ts'
import type { RebuildParts } from './rebuild-parts.ts'
import { reconcile } from './reconciliation.ts'
import { restartIfRemoved } from './removed-index.ts'

/** A type that an attempt rebuilds. `attempt`: name shared by all rebuilds that were taken together. */
type OfType = { readonly type: string; readonly attempt: string }
/**
 * Part of a type that successive `fill` steps index. It holds the versions with lastUpdated > `since` and ≤ `until`, of all tenants.
 * `asOf`: instant at which the versions were current.
 */
type Segment = OfType & {
  /** Name of the next index. Empty for a rebuild in the serving index. */
  readonly next: string
  /** Present if only the versions are indexed again that the index lacks or holds in another document format. */
  readonly isReplay?: true
  readonly since?: number
  readonly until?: number
  readonly asOf?: number
  /** Tenant at which the next step continues. Absent: the first one. */
  readonly tenant?: string
  /** Position at which the next step continues the scan of that tenant. */
  readonly cursor?: string
}

export type RebuildStepInput =
  | { readonly action: 'take'; readonly execution: string }
  | ({ readonly action: 'open' } & OfType)
  | { readonly action: 'fill'; readonly segment: Segment }
  | ({ readonly action: 'swap'; readonly next: string } & OfType)

/** Maximum segments of a type. */
export const SEGMENTS = 4
/** Approximate number of history entries between two consecutive cuts. */
const CUT_EVERY = 5_000
/** Maximum tenants whose history entries determine the cuts of a type. Further tenants do not influence the cuts. */
const TENANTS_CUT = 20
const PAGE = 500

export const rebuildStep = (parts: RebuildParts) => (input: RebuildStepInput) => {
  switch (input.action) {
    case 'take':
      return take(parts, input.execution)
    case 'open':
      return open(parts, input)
    case 'fill':
      return restartIfRemoved(parts, input.segment, fill(parts, input.segment), { ...input.segment, more: false })
    case 'swap':
      return restartIfRemoved(parts, input, swap(parts, input), {})
  }
}

/**
 * Takes the pending rebuilds for the execution and returns their types. Reconciles the index first if the store was restored, because its
 * types are not searchable until then. If the state has another document format, only releases the worker, because code of that format
 * performs the rebuilds. Removes expired previous indices if no rebuild is pending.
 */
async function take(parts: RebuildParts, execution: string) {
  const { state, now, wait } = parts
  const isMine = !isOthers(parts, (await state.read()).value)
  const left = isMine ? await reconcile(parts, execution) : undefined
  if (left !== undefined) return { pending: true, wait: left, types: [] }
  const { value } = await state.change((each) =>
    isOthers(parts, each)
      ? releaseWorker(each, execution)
      : takeRebuilds(withoutExpiredIndices(each, now() - parts.keepFor), execution, now()),
  )
  if (value.rebuilds.length === 0) await parts.index.removeKept(async () => previousNamesOf((await state.read()).value))
  const [first] = value.worker?.execution === execution ? value.rebuilds : []
  const attempt = first?.taken ?? ''
  const types = [...new Set(rebuildsOfAttempt(value, attempt).map(({ type }) => type))].map((type): OfType => ({ type, attempt }))
  return { pending: types.length > 0, wait, types }
}

const isOthers = ({ extraction }: RebuildParts, state: IndexState): boolean =>
  state.extraction !== undefined && state.extraction !== extraction

/**
 * Chooses the index to fill and cuts the type into segments. A next index left by an older attempt is removed, because it has documents of
 * older definitions. A rebuild in the serving index needs no wait, because no function has to learn of another index. A type with a lost or
 * outdated index is rebuilt even if it has no resources. Otherwise concurrent writes would reach no index, or would stay in the outdated
 * one.
 */
async function open(parts: RebuildParts, { type, attempt }: OfType) {
  const { value } = await parts.state.read()
  const rebuilds = rebuildsOfAttempt(value, attempt).filter((each) => each.type === type)
  if (rebuilds.some(({ inPlace }) => inPlace === undefined)) return openNext(parts, value, { type, attempt })
  const tenants = rebuilds.map(({ tenant }) => tenant)
  if (!(await hasAny(parts, tenants, type))) return nothingIn({ type, attempt })
  const cuts = await cutsOf(parts, tenants, type)
  return { type, attempt, isEmpty: false, next: '', wait: 0, segments: segmentsOf({ type, attempt, next: '' }, cuts) }
}

const nothingIn = (ofType: OfType) => ({ ...ofType, isEmpty: true, next: '', wait: 0, segments: [] })

async function openNext(parts: RebuildParts, state: IndexState, ofType: OfType) {
  const { index, resources, wait } = parts
  const { type, attempt } = ofType
  const way = rebuildPathOf(state, type, attempt, parts.epoch)
  const since = way.kind === 'anew' ? undefined : way.since
  const isNeeded = state.types[type]?.lost || isOutdated(state, type)
  if (!isNeeded && !(await hasAny(parts, resources.tenants(), type))) {
    await parts.state.change((each) => {
      checkEpoch(each, parts.epoch)
      return recordListed(each, type)
    })
    return nothingIn(ofType)
  }
  await index.abandon(type, way.kind === 'anew' ? undefined : way.index)
  const back = way.kind === 'back' ? await index.takeBack(type, way.index!) : undefined
  const isReplay = way.kind === 'here' || back !== undefined
  if (!isReplay) await parts.state.change((each) => withoutPreviousIndex(each, type))
  const next = way.kind === 'here' ? '' : (back ?? (await index.rebuild(type))).name
  const cuts = await cutsOf(parts, resources.tenants(), type, isReplay ? since : undefined)
  const segments = segmentsOf({ ...ofType, next, ...(isReplay ? { isReplay: true } : {}) }, cuts)
  return { ...ofType, isEmpty: false, next, wait: next === '' ? 0 : wait, segments }
}

const segmentsOf = (all: Segment, cuts: readonly number[]): readonly Segment[] =>
  [undefined, ...cuts].map((since, i) => ({ ...all, ...within(since, cuts[i]) }))

async function hasAny({ resources, now }: RebuildParts, tenants: AsyncIterable<string> | Iterable<string>, type: string): Promise<boolean> {
  const one = { type, asOf: now(), tellsDamaged: true, deletions: true, limit: 1 }
  for await (const tenant of tenants)
    for await (const { versions, damaged = [] } of resources.scan({ ...one, tenant })) if (versions.length + damaged.length > 0) return true
  return false
}

/** Returns at most SEGMENTS − 1 ascending instants, which cut the resources of a type into segments of about equal size. */
async function cutsOf(
  { resources, now }: RebuildParts,
  tenants: AsyncIterable<string> | Iterable<string>,
  type: string,
  since?: number,
): Promise<readonly number[]> {
  const all: number[] = []
  let looked = 0
  for await (const tenant of tenants) {
    if (++looked > TENANTS_CUT) break
    all.push(...(await resources.extent({ tenant, type, asOf: now(), ...within(since, undefined) }, CUT_EVERY)).cuts)
  }
  const rising = [...new Set(all)].toSorted((a, b) => a - b)
  const chosen = Array.from({ length: SEGMENTS - 1 }, (_, i) => rising[Math.floor(((i + 1) * rising.length) / SEGMENTS)])
  return [...new Set(chosen)].filter((cut) => cut !== undefined)
}

const within = (since: number | undefined, until: number | undefined) => ({
  ...(since === undefined ? {} : { since }),
  ...(until === undefined ? {} : { until }),
})

/**
 * Indexes the segment page by page. Starts no further page once the time budget is used, and returns where to continue. Meanwhile the
 * function that follows the stream writes new versions to the next and the serving index.
 */
async function fill(parts: RebuildParts, segment: Segment): Promise<Segment & { readonly more: boolean }> {
  const { state, resources, now } = parts
  const { tenant: _, cursor: __, asOf = now(), ...rest } = segment
  const { value } = await state.read()
  if (isOthers(parts, value) || !isWanted(value, segment)) return { ...segment, more: false }
  const readings = new TenantSearchContexts(parts.reading, 'documents')
  const filling: Filling = {
    isHere: segment.next === '',
    reading: (tenant) => readings.of(value, tenant),
    apply: await applierOf(parts, segment),
  }
  const until = now() + parts.budget
  const counts = new Map<string, number>()
  const save = () => state.change((each) => recordRebuildProgress(each, segment.attempt, segment.type, counts, now()))
  const goesOn = async (tenant: string, cursor?: string) => {
    await save()
    return { ...rest, asOf, tenant, ...(cursor === undefined ? {} : { cursor }), more: true }
  }
  let hasBegun = false
  for await (const tenant of tenantsFrom(parts, segment, value)) {
    if (hasBegun && now() >= until) return goesOn(tenant)
    hasBegun = true
    for await (const { versions: sound, damaged, cursor } of resources.scan(scanOf(parts, value, segment, tenant, asOf))) {
      const versions = damaged === undefined ? sound : [...sound, ...(await readWithoutContent(resources, damaged))]
      await fillPage(parts, filling, versions)
      counts.set(tenant, (counts.get(tenant) ?? 0) + versions.length)
      if (cursor !== undefined && now() >= until) return goesOn(tenant, cursor)
    }
  }
  await save()
  return { ...rest, asOf, more: false }
}

async function applierOf({ index }: RebuildParts, { type, next, isReplay }: Segment): Promise<Filling['apply']> {
  if (next === '') return (documents) => index.applyAgain(documents)
  const { apply } = await index.rebuild(type, next)
  return (documents) => apply(documents, isReplay)
}

/**
 * Yields the tenants of the segment, from the one at which it continues. A next index or a replay covers all tenants, in the order of the
 * store. Any other rebuild in the serving index covers the tenants that requested it, in ascending order.
 */
async function* tenantsFrom({ resources }: RebuildParts, { next, isReplay, attempt, type, tenant: first }: Segment, state: IndexState) {
  if (next === '' && isReplay === undefined) {
    const wanted = rebuildsOfAttempt(state, attempt).filter((each) => each.type === type)
    yield* wanted
      .map(({ tenant }) => tenant)
      .filter((tenant) => first === undefined || tenant >= first)
      .toSorted()
    return
  }
  let hasCome = first === undefined
  for await (const tenant of resources.tenants()) {
    hasCome ||= tenant === first
    if (hasCome) yield tenant
  }
}

/**
 * Returns the scan of one tenant. It includes deletions, because the index may have missed one. Without the document of a deletion, an
 * earlier version that arrives late would be indexed. In the first segment of a replay, the scan starts at `since` of the current state,
 * which may have moved back since `open`.
 */
function scanOf(
  { epoch }: RebuildParts,
  state: IndexState,
  { type, attempt, isReplay, since, until, tenant: begun, cursor }: Segment,
  tenant: string,
  asOf: number,
): ScanRequest {
  const way = isReplay && since === undefined ? rebuildPathOf(state, type, attempt, epoch) : undefined
  const from = way === undefined || way.kind === 'anew' ? since : way.since - 1
  const request = { tenant, type, asOf, limit: PAGE, deletions: true, tellsDamaged: true, ...within(from, until) }
  return tenant === begun && cursor !== undefined ? { ...request, cursor } : request
}

type Filling = BackfillTarget & { readonly isHere: boolean }

async function fillPage(parts: RebuildParts, filling: Filling, versions: readonly ResourceVersion[]): Promise<void> {
  const { state, extraction, epoch, define } = parts
  const { value } = await state.change((each) =>
    versions.reduce(clearUnindexable, filling.isHere ? recordFollowedVersions(each, versions, extraction) : each),
  )
  checkEpoch(value, epoch)
  await define(versions)
  await backfillDocuments(parts, filling, versions)
}

/**
 * Makes the next index the serving one. After a rebuild in the serving index, makes its documents visible instead. Then activates the
 * custom parameters that were built. Does nothing if a newer request replaced the rebuilds of the attempt, or if the state has another
 * document format.
 */
async function swap(parts: RebuildParts, { type, attempt, next }: Extract<RebuildStepInput, { action: 'swap' }>) {
  const { state, index, keepFor, now } = parts
  const { value } = await state.read()
  // guard: rebuild-segment-of-current-attempt
  if (isOthers(parts, value) || !isWanted(value, { type, attempt })) return {}
  if (next === '') {
    await index.show(type)
    await state.change((each) => finishAttempt(recordInPlaceRebuild(each, type, attempt), attempt, type))
    return {}
  }
  const isWhole = rebuildPathOf(value, type, attempt, parts.epoch).kind === 'anew'
  const built = await index.rebuild(type, next)
  const kept = await built.swap(keepFor > 0 && isWorthRetaining(value, type, attempt))
  const by = { extraction: value.extraction, index: kept, at: now(), epoch: parts.epoch }
  await state.change((each) => {
    const after = finishAttempt(replaceIndex(markServing(each, type, built.identity), type, by), attempt, type)
    return isWhole ? recordListed(after, type) : after
  })
  return {}
}

/** Whether the attempt still has a rebuild of the type. False after a newer request for it, which the next attempt performs. */
const isWanted = (state: IndexState, { type, attempt }: OfType): boolean =>
  rebuildsOfAttempt(state, attempt).some((each) => each.type === type)
