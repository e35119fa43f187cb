/**
 * Steps of the rebuild workflow (workflow.ts). The workflow may repeat each step. Input and results hold types and numbers, never resource
 * content.
 */
import { previousNamesOf, withoutExpiredIndices } from '../lifecycle/index-retention.ts'
import { attemptTimeOf, isWorker, releaseWorker, restartRebuild, takeRebuilds } from '../lifecycle/rebuild-queue.ts'
import { ALL_REBUILDS, type IndexState } from '../lifecycle/state.ts'
import { type EarlierInput, endEarlierWorkflow } from './earlier-workflow.ts'
import { hasOtherFormat, type RebuildParts } from './rebuild-parts.ts'
import { areComplete, isBegunBy, isComplete, type Lane, type OfType, type RebuildPlan, type Segment } from './rebuild-progress.ts'
import { reconcile } from './reconciliation.ts'
import { restartIfRemoved } from './removed-index.ts'
import { fill } from './segment-fill.ts'
import { openIndex, planType, swap } from './type-rebuild.ts'
import { MAX_STEPS, MAX_TYPES } from './workflow.ts'

export type RebuildStepInput =
  | { readonly action: 'next'; readonly workflow: number; readonly execution: string; readonly width: number }
  | { readonly action: 'fill'; readonly workflow: number; readonly lane: Lane }

/** State that follows a step. `wait`: seconds until the next step. */
type NextState =
  | { readonly follows: 'next' | 'end' | 'failure' }
  | { readonly follows: 'wait'; readonly wait: number }
  | { readonly follows: 'fill'; readonly lanes: readonly Lane[] }

/** Seconds between two checks whether an index has its shards or replicas. */
const HEALTH_PAUSE = 30
/** Milliseconds for which an index may lack a shard, so that a node has time to restart. Then its type is rebuilt from the first document. */
const BROKEN_FOR = 5 * 60_000

const NEXT = { follows: 'next' } as const
const WAIT = { follows: 'wait', wait: HEALTH_PAUSE } as const
const END = { follows: 'end' } as const

export const rebuildStep = (parts: RebuildParts) => (input: RebuildStepInput | EarlierInput) => {
  if (!('workflow' in input)) return endEarlierWorkflow(parts, input)
  return input.action === 'next' ? next(parts, input) : fill(parts, input.lane)
}

/**
 * Takes the pending rebuilds for the execution, and does the first thing that is due for them. Reconciles the index first if the store was
 * restored, because its types are not searchable until then. If the state has another document format, only releases the worker, because
 * code of that format performs the rebuilds. Removes expired previous indices if no rebuild is pending.
 */
async function next(parts: RebuildParts, { execution, width }: { readonly execution: string; readonly width: number }): Promise<NextState> {
  const { state, now } = parts
  const isMine = !hasOtherFormat(parts, (await state.read()).value)
  const left = isMine ? await reconcile(parts, execution) : undefined
  if (left !== undefined) return { follows: 'wait', wait: left }
  const { value } = await state.change(
    (each) =>
      hasOtherFormat(parts, each)
        ? releaseWorker(each, execution)
        : takeRebuilds(withoutExpiredIndices(each, now() - parts.keepFor), { execution, width, steps: MAX_STEPS }, now()),
    ALL_REBUILDS,
  )
  if (value.rebuilds.length === 0) await parts.index.removeKept(async () => previousNamesOf((await state.read()).value))
  if (value.rebuilds.length === 0 || !isWorker(value, execution)) return END
  return nextOfTypes(parts, value, execution)
}

async function nextOfTypes(parts: RebuildParts, value: IndexState, execution: string): Promise<NextState> {
  const { progress, now, wait } = parts
  const { width = 1 } = value.worker!
  const taken = typesTaken(value)
  // Until then functions may use older definitions. The other types continue.
  const usableFrom = ({ attempt }: OfType): number => attemptTimeOf(attempt) + wait * 1_000
  const types = taken.filter((each) => usableFrom(each) <= now())
  if (types.length === 0) return waitUntil(Math.min(...taken.map(usableFrom)), now())
  const plans = await Promise.all(types.map(async (each) => ({ ...each, plan: await progress.plan(each) })))
  const open = await Promise.all(
    plans.flatMap(({ plan, ...each }) => {
      const index = plan?.filled
      return index === undefined ? [] : [progress.segments(each).then((segments): OpenType => ({ ...each, index, segments }))]
    }),
  )
  const afterCheck = await checkIndices(parts, open)
  if (afterCheck !== undefined) return afterCheck
  const unplanned = plans.filter(({ plan }) => !isComplete(plan))
  if (unplanned.length > 0) return planTypes(parts, unplanned)
  const full = open.filter(({ segments }) => areComplete(segments))
  if (await swapOne(parts, value, full)) return NEXT
  const filling = open.filter((each) => !full.includes(each))
  // An iteration ends before its segment is complete only if it failed, or if an index lacks a shard.
  if (filling.some(({ segments }) => segments.some(({ progress }) => isBegunBy(execution, progress)))) return { follows: 'failure' }
  const unopened = plans.find(({ plan }) => plan!.filled === undefined)
  if (unopened !== undefined && open.length < MAX_TYPES) {
    await openIndex(parts, unopened)
    return NEXT
  }
  // All are full, and wait for their replicas.
  if (filling.length === 0) return WAIT
  const followed = Math.max(...filling.map(({ index }) => index.at))
  return now() < followed ? waitUntil(followed, now()) : { follows: 'fill', lanes: lanesOf(filling, { execution, width }) }
}

/** Lets one of the full types serve, a lost one first. Returns false if all wait for their replicas. */
async function swapOne(parts: RebuildParts, { types }: IndexState, full: readonly OpenType[]): Promise<boolean> {
  const rankOf = ({ type }: OpenType): number => (types[type]?.lost ? 0 : 1)
  for (const { type, attempt, index } of full.toSorted((a, b) => rankOf(a) - rankOf(b))) {
    const of = { type, attempt, next: index.next }
    if (await restartIfRemoved(parts, of, swap(parts, of, of.next), true)) return true
  }
  return false
}

/** Type with an index that is filled. */
type OpenType = OfType & { readonly index: NonNullable<RebuildPlan['filled']>; readonly segments: readonly Segment[] }

/** Plans types until the time budget is used. */
async function planTypes(parts: RebuildParts, types: readonly OfType[]): Promise<NextState> {
  const until = parts.now() + parts.budget
  for (const each of types) {
    await planType(parts, each, until)
    if (parts.now() >= until) break
  }
  return NEXT
}

function lanesOf(open: readonly OpenType[], { execution, width }: { readonly execution: string; readonly width: number }): readonly Lane[] {
  const types = open.map(({ type, attempt }): OfType => ({ type, attempt }))
  const left = open.flatMap(({ segments }) => segments).filter(({ progress }) => !progress?.isDone).length
  return Array.from({ length: Math.min(width, left) }, (_, lane): Lane => ({ execution, lane, types }))
}

/**
 * Checks that each next index exists with all its shards. It has no replicas until it is full, so it lacks a shard while a node is away.
 * Restarts the type if the index is missing, or lacks the shard for BROKEN_FOR. Removes such an index, because functions that follow the stream
 * cannot write to it, and wait until then. Returns the state that follows if one is not sound.
 */
async function checkIndices({ index, state, progress, now }: RebuildParts, open: readonly OpenType[]): Promise<NextState | undefined> {
  let following: NextState | undefined
  for (const { type, attempt, index: filled } of open) {
    const { next, brokenAt, ...rest } = filled
    if (next === '') continue
    if (await index.isSound(type, next)) {
      if (brokenAt !== undefined) await progress.setIndex({ type, attempt }, { next, ...rest })
      continue
    }
    const isOver = brokenAt !== undefined && now() >= brokenAt + BROKEN_FOR
    if (isOver) await index.abandon(type)
    if (isOver || !(await index.isThere(type, next))) {
      await state.change((each) => restartRebuild(each, attempt, type))
      return NEXT
    }
    if (brokenAt === undefined) await progress.setIndex({ type, attempt }, { ...filled, brokenAt: now() })
    following = WAIT
  }
  return following
}

const waitUntil = (at: number, now: number): NextState => ({ follows: 'wait', wait: Math.ceil((at - now) / 1_000) })

/** Returns the types of all rebuilds that an attempt has taken. */
function typesTaken({ rebuilds }: IndexState): readonly OfType[] {
  const taken = new Map(rebuilds.flatMap(({ type, taken }) => (taken === undefined ? [] : [[type, taken] as const])))
  return [...taken].map(([type, attempt]) => ({ type, attempt }))
}
