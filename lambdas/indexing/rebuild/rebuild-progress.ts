/**
 * Stored progress of rebuilds: one plan for each type, and one row for each segment that was begun. Any execution continues from there, so
 * nothing is built twice after a failure.
 */
import type { Rows } from '../../ports/rows/rows.ts'

/** A type that an attempt rebuilds. `attempt`: name shared by all rebuilds that were taken together. */
export type OfType = { readonly type: string; readonly attempt: string }

/** Iteration of `fill`, and the types whose segments it fills. `held`: segment that it has begun. */
export type Lane = {
  readonly execution: string
  readonly lane: number
  readonly types: readonly OfType[]
  readonly held?: OfType & { readonly name: string }
}

/**
 * Index that a rebuild fills. `next`: name of the next index, empty for the serving index. `isReplay`: only the versions are indexed again
 * that the index lacks or holds in another document format. `at`: instant from which on functions write to it. `brokenAt`: when a step found
 * that it lacks a shard; absent while it is sound. Both in ms since 1970.
 */
export type FilledIndex = { readonly next: string; readonly isReplay?: true; readonly at: number; readonly brokenAt?: number }

/**
 * Count of a type that the next step continues. `totals`: versions by tenant. `partial`: tenant of which only the versions after `until` are
 * counted. Those of the other tenants in `totals` all are.
 */
export type UnfinishedCount = {
  readonly totals: readonly (readonly [tenant: string, versions: number])[]
  readonly partial?: { readonly tenant: string; readonly until: number }
}

/**
 * Plan of a type. `cuts`: ascending timestamps that cut it into segments. `count`: absent in a complete plan. `filled`: absent until the
 * index is chosen.
 */
export type RebuildPlan = {
  readonly attempt: string
  readonly cuts: readonly number[]
  readonly count?: UnfinishedCount
  readonly filled?: FilledIndex
}

/**
 * Progress of a segment. `by`: iteration that fills it. `tries`: number of iterations that began with it. `asOf`: instant at which its
 * versions were current. `tenant`, `cursor`: where the scan continues. `count`: documents indexed.
 */
export type SegmentProgress = {
  readonly attempt: string
  readonly by: string
  readonly tries: number
  readonly asOf: number
  readonly tenant?: string
  readonly cursor?: string
  readonly count: number
  readonly isDone?: true
}

/** Segment of a type. It holds the versions with lastUpdated > `since` and ≤ `until`, of all tenants. */
export type Segment = OfType &
  Pick<FilledIndex, 'next' | 'isReplay'> & {
    readonly name: string
    readonly since?: number
    readonly until?: number
    /** Absent until the segment is begun. */
    readonly progress?: SegmentProgress
  }

/** Whether all segments of a type are complete. */
export const areComplete = (segments: readonly Segment[]): boolean => segments.every(({ progress }) => progress?.isDone)

export type BegunSegment = Segment & { readonly progress: SegmentProgress }

const PLAN = 'plan'

export class RebuildProgress {
  readonly #rows: Rows

  constructor(rows: Rows) {
    this.#rows = rows
  }

  /** Returns the plan of the type, which may be incomplete, or undefined if the attempt has none yet. */
  async plan({ type, attempt }: OfType): Promise<RebuildPlan | undefined> {
    const plan = await this.#rows.read<RebuildPlan>(ownerOf(type), PLAN)
    return plan?.attempt === attempt ? plan : undefined
  }

  /** Stores the plan, unless the attempt has a complete one already. */
  async addPlan({ type }: OfType, plan: RebuildPlan): Promise<void> {
    await this.#rows.change<RebuildPlan>(ownerOf(type), PLAN, (each) => (each?.attempt === plan.attempt && isComplete(each) ? each : plan))
  }

  async setIndex({ type, attempt }: OfType, filled: FilledIndex): Promise<void> {
    await this.#rows.change<RebuildPlan>(ownerOf(type), PLAN, (each) => (each?.attempt === attempt ? { ...each, filled } : each))
  }

  /** Returns the segments of the type. There are none until the index is chosen. */
  async segments(ofType: OfType): Promise<readonly Segment[]> {
    let plan: RebuildPlan | undefined
    const begun = new Map<string, SegmentProgress>()
    for await (const { name, value } of this.#rows.list<RebuildPlan & SegmentProgress>(ownerOf(ofType.type))) {
      if (value.attempt !== ofType.attempt) continue
      if (name === PLAN) plan = value
      else begun.set(name, value)
    }
    if (!isOpen(plan)) return []
    const open = plan
    return [undefined, ...open.cuts].map((_, i) => segmentOf(ofType, open, i, begun.get(nameOfSegment(i))))
  }

  /**
   * Returns a segment for the lane, or undefined if others have all of them. The segment that the lane has begun comes first, and the one
   * with the most failures last.
   */
  async claim(lane: Lane, now: number): Promise<BegunSegment | undefined> {
    const by = nameOf(lane)
    const held = lane.held && (await this.#held(lane.held, by))
    if (held !== undefined) return held
    const all = await Promise.all(lane.types.map((each) => this.segments(each)))
    const rankOf = ({ progress }: Segment): number => (progress?.by === by ? -1 : (progress?.tries ?? 0))
    const open = all.flat().filter(isOpenTo(lane))
    for (const segment of open.toSorted((a, b) => rankOf(a) - rankOf(b))) {
      const progress = await this.#rows.change<SegmentProgress>(ownerOf(segment.type), segment.name, (each) => {
        const { attempt } = segment
        if (each?.attempt !== attempt) return { attempt, by, tries: 1, asOf: now, count: 0 }
        return each.by === by || !isOpenTo(lane)({ progress: each }) ? each : { ...each, by, tries: each.tries + 1 }
      })
      if (progress?.by === by && progress.isDone === undefined) return { ...segment, progress }
    }
    return undefined
  }

  /** Returns the segment if it is still that of the lane and incomplete. Reads two rows, where a list reads all of the type. */
  async #held({ name, ...ofType }: NonNullable<Lane['held']>, by: string): Promise<BegunSegment | undefined> {
    const [plan, progress] = await Promise.all([this.plan(ofType), this.#rows.read<SegmentProgress>(ownerOf(ofType.type), name)])
    if (!isOpen(plan) || progress?.attempt !== ofType.attempt || progress.by !== by || progress.isDone) return undefined
    return { ...segmentOf(ofType, plan, Number(name.slice(SEGMENT.length)), progress), progress }
  }

  /** Stores the progress of a segment. Returns false if another iteration fills it by now. */
  async save({ type, name }: Segment, progress: SegmentProgress): Promise<boolean> {
    const isMine = (each: SegmentProgress | undefined) => each?.attempt === progress.attempt && each.by === progress.by
    return isMine(await this.#rows.change<SegmentProgress>(ownerOf(type), name, (each) => (isMine(each) ? progress : each)))
  }

  async remove({ type }: OfType): Promise<void> {
    await this.#rows.remove(ownerOf(type))
  }
}

/** Returns the segment of this number: the versions after cut `i` − 1, up to cut `i`. */
function segmentOf({ type, attempt }: OfType, { cuts, filled }: OpenPlan, i: number, progress: SegmentProgress | undefined): Segment {
  const [since, until] = [cuts[i - 1], cuts[i]]
  return {
    ...{ type, attempt, name: nameOfSegment(i), next: filled.next },
    ...(filled.isReplay === undefined ? {} : { isReplay: true }),
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
    ...(progress === undefined ? {} : { progress }),
  }
}

const SEGMENT = 'segment-'
const nameOfSegment = (i: number): string => SEGMENT + String(i).padStart(4, '0')

/**
 * Whether the count is finished. A release that does not know unfinished counts may have begun to fill an index with such a plan. Its cuts must
 * not change then, because segments may be complete.
 */
export const isComplete = (plan: RebuildPlan | undefined): boolean =>
  plan !== undefined && (plan.count === undefined || plan.filled !== undefined)

type OpenPlan = RebuildPlan & Required<Pick<RebuildPlan, 'filled'>>

const isOpen = (plan: RebuildPlan | undefined): plan is OpenPlan => plan?.filled !== undefined

/** Owner of the rows of a type. lib/permissions permits this prefix. */
const ownerOf = (type: string): string => `REBUILD_${type}`

const nameOf = ({ execution, lane }: Lane): string => `${execution}/${lane}`

/**
 * Whether the iteration may fill the segment: if it is its own, or no iteration of the same execution has begun it. Other executions have
 * ended.
 */
const isOpenTo =
  (lane: Lane) =>
  ({ progress }: Pick<Segment, 'progress'>): boolean =>
    progress?.isDone === undefined && (progress?.by === nameOf(lane) || !isBegunBy(lane.execution, progress))

/** Whether an iteration of the execution has begun the segment and has not completed it. */
export const isBegunBy = (execution: string, progress: SegmentProgress | undefined): boolean =>
  progress?.isDone === undefined && progress?.by.startsWith(`${execution}/`) === true
