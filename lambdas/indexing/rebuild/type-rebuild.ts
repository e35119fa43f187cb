/** Stages of the rebuild of a type: its plan, the index that it fills, and the switch to that index. */

import type { ScanRequest } from '../../ports/store/resource-store.ts'
import { recordCompleteRows } from '../lifecycle/identifier-rows.ts'
import {
  isOutdated,
  isWorthRetaining,
  rebuildPathOf,
  recordInPlaceRebuild,
  replaceIndex,
  withoutPreviousIndex,
} from '../lifecycle/index-retention.ts'
import { finishAttempt, rebuildsOfAttempt } from '../lifecycle/rebuild-queue.ts'
import { checkEpoch, epochOf } from '../lifecycle/restore.ts'
import { markServing } from '../lifecycle/serving-indices.ts'
import { ALL_REBUILDS, type IndexState } from '../lifecycle/state.ts'
import { finishMost, saveTotals } from './attempt-progress.ts'
import { hasOtherFormat, isWanted, type RebuildParts, timeRangeOf } from './rebuild-parts.ts'
import type { FilledIndex, OfType, RebuildPlan, UnfinishedCount } from './rebuild-progress.ts'

/** Approximate number of current versions of a segment. A function takes half an hour for it. */
export const SEGMENT_SIZE = 1_000_000
/** Maximum segments of a type. */
export const MAX_SEGMENTS = 1_000
/** Maximum tenants whose versions are counted. Further tenants do not influence the segments, and the number of documents is then unknown. */
const COUNTED_TENANTS = 100

/**
 * Counts the versions of the type and cuts it into segments. Finishes the rebuild if there is nothing to index. A type with a lost or
 * outdated index is rebuilt even if it has no resources. Otherwise concurrent writes would reach no index, or would stay in the outdated
 * one. The count ends at `until`, in ms since 1970, and the next call continues it.
 */
export async function planType(parts: RebuildParts, ofType: OfType, until: number): Promise<void> {
  const { state, resources, progress, index } = parts
  const { type, attempt } = ofType
  const { value } = await state.read(ALL_REBUILDS)
  // A deployment or a newer request may have detached the type from the attempt since the step began.
  if (hasOtherFormat(parts, value) || !isWanted(value, ofType)) return
  const rebuilds = rebuildsOfAttempt(value, attempt).filter((each) => each.type === type)
  const isInPlace = rebuilds.every(({ inPlace }) => inPlace !== undefined)
  const tenants = () => (isInPlace ? rebuilds.map(({ tenant }) => tenant) : resources.tenants())
  const begun = await progress.plan(ofType)
  const isNeeded = begun !== undefined || (!isInPlace && (value.types[type]?.lost || isOutdated(value, type)))
  if (!isNeeded && !(await hasAny(parts, tenants(), type))) {
    await index.show(type)
    const rest = await finishMost(parts, value, ofType)
    await state.change((each) => {
      // guard: planned-rebuild-of-current-attempt
      if (!isWanted(each, ofType)) return each
      const after = finishAttempt(recordInPlaceRebuild(each, type, attempt), attempt, type)
      if (isInPlace) return after
      checkEpoch(each, parts.epoch)
      return recordCompleteRows(after, type, parts.now())
    }, rest)
    return
  }
  const path = rebuildPathOf(value, type, attempt, parts.epoch)
  const since = isInPlace || path.kind === 'anew' ? undefined : path.since
  const { totals, ...plan } = await countVersions(parts, tenants(), { type, since, begun, until })
  // A repeated step finds a complete plan, and counts nothing.
  if (totals !== undefined) await saveTotals(parts, ofType, value, totals)
  await progress.addPlan(ofType, { attempt, ...plan })
}

async function hasAny({ resources, now }: RebuildParts, tenants: AsyncIterable<string> | Iterable<string>, type: string): Promise<boolean> {
  const one = { type, asOf: now(), tellsDamaged: true, deletions: true, limit: 1 }
  for await (const tenant of tenants)
    for await (const { versions, damaged = [] } of resources.scan({ ...one, tenant })) if (versions.length + damaged.length > 0) return true
  return false
}

/**
 * Returns timestamps that cut the versions of all tenants into segments of about equal size, and the number of versions by tenant. `totals`:
 * undefined if there are more tenants than are counted, or if the count is unfinished.
 */
async function countVersions(
  { resources, now }: RebuildParts,
  tenants: AsyncIterable<string> | Iterable<string>,
  { type, since, begun, until }: Pick<ScanRequest, 'type'> & VersionCount,
) {
  const all = [...(begun?.cuts ?? [])]
  const totals = new Map(begun?.count?.totals)
  let partial = begun?.count?.partial
  let hasCounted = false
  let hasSkipped = false
  const isOver = (): boolean => now() >= until
  const unfinished = (rest: Omit<UnfinishedCount, 'totals'> = {}) => ({
    ...{ cuts: ascending(all), count: { totals: [...totals], ...rest }, totals: undefined },
  })
  for await (const tenant of tenants) {
    // A tenant that came meanwhile may be listed before the one of which a part is counted. The next step counts it.
    // guard: unfinished-count-continues-first
    if (partial !== undefined && partial.tenant !== tenant) {
      hasSkipped ||= !totals.has(tenant)
      continue
    }
    const rest = partial?.until
    if (totals.has(tenant) && rest === undefined) continue
    if (totals.size === COUNTED_TENANTS && !totals.has(tenant)) return { cuts: thinOut(all), totals: undefined }
    if (hasCounted && isOver()) return unfinished()
    const extent = await resources.extent({ tenant, type, asOf: now(), ...timeRangeOf(since, rest) }, SEGMENT_SIZE, isOver)
    hasCounted = true
    all.push(...extent.cuts)
    totals.set(tenant, (totals.get(tenant) ?? 0) + extent.entries)
    partial = undefined
    if (extent.rest === undefined) continue
    all.push(extent.rest)
    return unfinished({ partial: { tenant, until: extent.rest } })
  }
  return hasSkipped ? unfinished() : { cuts: thinOut(all), totals }
}

/** `since`: only later versions are counted. `begun`: plan whose count continues. `until`: when the count ends, in ms since 1970. */
type VersionCount = { readonly since: number | undefined; readonly begun: RebuildPlan | undefined; readonly until: number }

const ascending = (cuts: readonly number[]): readonly number[] => [...new Set(cuts)].toSorted((a, b) => a - b)

function thinOut(cuts: readonly number[]): readonly number[] {
  const rising = ascending(cuts)
  const every = Math.ceil((rising.length + 1) / MAX_SEGMENTS)
  return rising.filter((_, i) => (i + 1) % every === 0)
}

/**
 * Chooses the index to fill. A next index left by an older attempt is removed, because it has documents of older definitions. A rebuild in
 * the serving index needs no wait, because no function has to learn of another index.
 */
export async function openIndex(parts: RebuildParts, ofType: OfType): Promise<void> {
  const { value } = await parts.state.read(ALL_REBUILDS)
  const rebuilds = rebuildsOfAttempt(value, ofType.attempt).filter((each) => each.type === ofType.type)
  const isInPlace = rebuilds.every(({ inPlace }) => inPlace !== undefined)
  await parts.progress.setIndex(ofType, isInPlace ? { next: '', at: 0 } : await openNext(parts, value, ofType))
}

async function openNext({ index, state, epoch, now, wait }: RebuildParts, value: IndexState, ofType: OfType): Promise<FilledIndex> {
  const { type, attempt } = ofType
  const path = rebuildPathOf(value, type, attempt, epoch)
  await index.abandon(type, path.kind === 'anew' ? undefined : path.index)
  if (path.kind === 'here') return { next: '', isReplay: true, at: 0 }
  const back = path.kind === 'back' ? await index.takeBack(type, path.index!) : undefined
  if (back === undefined) await state.change((each) => withoutPreviousIndex(each, type))
  const { name } = back ?? (await index.rebuild(type))
  return { next: name, ...(back === undefined ? {} : { isReplay: true }), at: now() + wait * 1_000 }
}

/**
 * Lets the full index serve and returns true. Returns false while the index still gets its replicas. A lost type does not wait for them,
 * because its searches are 503 meanwhile. After a rebuild in the serving index, makes its documents visible instead. Then activates the
 * custom parameters that were built. Does nothing if a newer request replaced the rebuilds of the attempt.
 */
export async function swap(parts: RebuildParts, ofType: OfType, next: string): Promise<boolean> {
  const { state, index, keepFor, now, progress } = parts
  const { type, attempt } = ofType
  const { value } = await state.read(ALL_REBUILDS)
  // guard: rebuild-segment-of-current-attempt
  if (hasOtherFormat(parts, value) || !isWanted(value, ofType)) return true
  if (next === '') {
    await index.show(type)
    const rest = await finishMost(parts, value, ofType)
    await state.change((each) => {
      // guard: in-place-rebuild-of-current-attempt
      if (!isWanted(each, ofType)) return each
      return finishAttempt(recordInPlaceRebuild(each, type, attempt), attempt, type)
    }, rest)
  } else {
    const isWhole = rebuildPathOf(value, type, attempt, parts.epoch).kind === 'anew'
    const built = await index.rebuild(type, next)
    const health = await built.complete()
    if (health === 'red' || (health === 'yellow' && !value.types[type]?.lost)) return false
    const kept = await built.swap(keepFor > 0 && isWorthRetaining(value, type, attempt))
    const by = { extraction: value.extraction, index: kept, at: now(), epoch: parts.epoch }
    const rest = await finishMost(parts, value, ofType)
    await state.change((each) => {
      const after = finishAttempt(replaceIndex(markServing(each, type, built.identity), type, by), attempt, type)
      // A restore during the swap may have brought a table with fewer rows.
      return isWhole && epochOf(each) === parts.epoch ? recordCompleteRows(after, type, now()) : after
    }, rest)
  }
  await progress.remove(ofType)
  return true
}
