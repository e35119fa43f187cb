/** Step of the rebuild workflow that indexes a segment of a type, page by page. */
import type { ResourceVersion, ScanRequest } from '../../ports/store/resource-store.ts'
import { clearUnindexable } from '../lifecycle/definitions.ts'
import { haveIdentifierRows } from '../lifecycle/identifier-rows.ts'
import { rebuildPathOf, recordFollowedVersions } from '../lifecycle/index-retention.ts'
import { isWorker, rebuildsOfAttempt } from '../lifecycle/rebuild-queue.ts'
import { checkEpoch } from '../lifecycle/restore.ts'
import { changeByTenant } from '../lifecycle/shared-index-state.ts'
import { ALL_REBUILDS, type IndexState } from '../lifecycle/state.ts'
import { TenantSearchContexts } from '../tenant-search-contexts.ts'
import { saveProgress } from './attempt-progress.ts'
import { type BackfillTarget, backfillDocuments, readWithoutContent } from './document-backfill.ts'
import { hasOtherFormat, isWanted, type RebuildParts, timeRangeOf } from './rebuild-parts.ts'
import { areComplete, type BegunSegment, type Lane, type OfType, type Segment, type SegmentProgress } from './rebuild-progress.ts'
import { restartIfRemoved } from './removed-index.ts'
import { MAX_STEPS } from './workflow.ts'

const PAGE = 500

/** Milliseconds after which the position in a segment is stored. A function that dies loses no more work. */
const SAVE_EVERY = 10_000

export type FillResult = Lane & { readonly more: boolean }

/**
 * Indexes a part of a segment that is open to the lane. Starts no further page once the time budget is used. `more`: whether the lane
 * continues. Meanwhile the function that follows the stream writes new versions to the next and the serving index.
 */
export async function fill(parts: RebuildParts, lane: Lane): Promise<FillResult> {
  const { state, progress, now } = parts
  const { value } = await state.read(ALL_REBUILDS)
  const isOver = hasOtherFormat(parts, value) || !isWorker(value, lane.execution) || (value.worker!.steps ?? 0) >= MAX_STEPS
  const { held, types, ...rest } = lane
  const wanted = types.filter((each) => isWanted(value, each))
  const mine = held !== undefined && isWanted(value, held) ? { held } : {}
  const segment =
    isOver || (await isNextDue(parts, value, wanted)) ? undefined : await progress.claim({ ...rest, types: wanted, ...mine }, now())
  if (segment === undefined) return { ...lane, more: false }
  await restartIfRemoved(parts, segment, fillSegment(parts, value, segment), undefined)
  const { type, attempt, name } = segment
  return { ...lane, held: { type, attempt, name }, more: true }
}

/**
 * Whether the lanes must end for the step `next`: it lets a lost type serve once it is full, and waits if a next index lacks a shard. Writes
 * to such an index fail, also those of functions that follow the stream.
 */
async function isNextDue({ progress, index }: RebuildParts, { types }: IndexState, wanted: readonly OfType[]): Promise<boolean> {
  for (const each of wanted) {
    const next = (await progress.plan(each))?.filled?.next
    if (next !== undefined && next !== '' && !(await index.isSound(each.type, next))) return true
    if (types[each.type]?.lost && areComplete(await progress.segments(each))) return true
  }
  return false
}

/** Indexes the segment from its position, until it is complete or the time budget is used. Stops if another lane fills it by now. */
async function fillSegment(parts: RebuildParts, value: IndexState, segment: BegunSegment): Promise<void> {
  const { state, resources, now, progress } = parts
  const { tenant: _, cursor: __, isDone: ___, count: before, ...rest } = segment.progress
  const { asOf } = rest
  const readings = new TenantSearchContexts(parts.reading, 'documents')
  const isInPlace = segment.next === ''
  const apply = await applierOf(parts, segment)
  const until = now() + parts.budget
  const counts = new Map<string, number>()
  let savedAt = now()
  const save = (position: Pick<SegmentProgress, 'tenant' | 'cursor' | 'isDone'>) => {
    savedAt = now()
    const count = [...counts.values()].reduce((sum, each) => sum + each, before)
    return progress.save(segment, { ...rest, count, ...position })
  }
  /** Whether the step ends at this position, which it then stores. */
  const endsAt = async (tenant: string, cursor?: string): Promise<boolean> => {
    if (now() < Math.min(until, savedAt + SAVE_EVERY)) return false
    return !(await save({ tenant, ...(cursor === undefined ? {} : { cursor }) })) || now() >= until
  }
  const index = async (): Promise<Parameters<typeof save>[0] | undefined> => {
    let hasBegun = false
    for await (const tenant of tenantsFrom(parts, segment, value)) {
      if (hasBegun && (await endsAt(tenant))) return undefined
      hasBegun = true
      const defined = value.rows ? (await state.read({ definitions: [tenant] })).value : value
      const filling: Filling = { type: segment.type, isInPlace, reading: (each) => readings.of(defined, each), apply }
      for await (const { versions: sound, damaged, cursor } of resources.scan(scanOf(parts, value, segment, tenant, asOf))) {
        const versions = damaged === undefined ? sound : [...sound, ...(await readWithoutContent(resources, damaged))]
        await fillPage(parts, filling, versions)
        counts.set(tenant, (counts.get(tenant) ?? 0) + versions.length)
        if (cursor !== undefined && (await endsAt(tenant, cursor))) return undefined
      }
    }
    return { isDone: true }
  }
  const end = await index()
  if (end !== undefined) await save(end)
  await saveProgress(parts, segment, value, counts)
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
async function* tenantsFrom({ resources }: RebuildParts, { next, isReplay, attempt, type, progress }: Segment, state: IndexState) {
  const first = progress?.tenant
  if (next === '' && isReplay === undefined) {
    const wanted = rebuildsOfAttempt(state, attempt).filter((each) => each.type === type)
    yield* wanted
      .map(({ tenant }) => tenant)
      .filter((tenant) => first === undefined || tenant >= first)
      .toSorted()
    return
  }
  let isReached = first === undefined
  for await (const tenant of resources.tenants()) {
    isReached ||= tenant === first
    if (isReached) yield tenant
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
  { type, attempt, isReplay, since, until, progress }: Segment,
  tenant: string,
  asOf: number,
): ScanRequest {
  const path = isReplay && since === undefined ? rebuildPathOf(state, type, attempt, epoch) : undefined
  const from = path === undefined || path.kind === 'anew' ? since : path.since - 1
  const request = { tenant, type, asOf, limit: PAGE, deletions: true, tellsDamaged: true, ...timeRangeOf(from, until) }
  const { tenant: begun, cursor } = progress ?? {}
  return tenant === begun && cursor !== undefined ? { ...request, cursor } : request
}

type Filling = BackfillTarget & { readonly type: string; readonly isInPlace: boolean }

async function fillPage(parts: RebuildParts, filling: Filling, versions: readonly ResourceVersion[]): Promise<void> {
  const { state, extraction, epoch, announce, addIdentifiers } = parts
  const { value } = await changeByTenant(
    state,
    versions,
    (each, some) => some.reduce(clearUnindexable, filling.isInPlace ? recordFollowedVersions(each, some, extraction) : each),
    ['poisoned'],
  )
  checkEpoch(value, epoch)
  await announce(versions)
  // Later versions get their rows from their writers.
  // guard: rebuild-adds-missing-identifier-rows
  if (!haveIdentifierRows(value, filling.type, extraction)) await addIdentifiers(versions)
  await backfillDocuments(parts, filling, versions)
}
