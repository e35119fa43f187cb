/** Counts the index entries of a scan, and cuts it into parts. */
import { forEachInParallel } from '../../../ports/execution/parallel.ts'
import type { ScanExtent, ScanRequest } from '../../../ports/store/resource-store.ts'
import type { TableClient } from '../table-client.ts'
import { countSource, type IndexSource, PARALLEL_SOURCES } from './index-windows.ts'
import { type ScanOptions, sortKeyRangeOf } from './scan.ts'

/** Steps in which a partition counts its share of one part. A part exceeds its size by at most one step of each partition. */
export const STEPS_OF_PART = 4

/**
 * Maximum entries of a partition that a count reads per second, if the count may end early. Other counts have no time to wait. An entry has
 * about 154 bytes, so these are 1,500 of the 3,000 read units that a partition key delivers. Requests that read the same histories need the
 * others.
 */
export const COUNTED_PER_SECOND = 80_000

export type CountOptions = Pick<ScanOptions, 'dynamo' | 'types'> & {
  readonly now: () => number
  readonly wait: (time: number) => Promise<unknown>
}

/** `last`: timestamp of the oldest entry of a step, or minus infinity at the end of a partition. */
type Step = { readonly count: number; readonly last: number }

/**
 * Counts the current versions, and returns the timestamps that cut them into parts of about `every`. Each partition is counted, because
 * ids are spread evenly only over the partitions that the type had when they were written. Most versions are current.
 */
export async function scanExtent(
  { dynamo, types, now, wait }: CountOptions,
  part: Omit<ScanRequest, 'cursor' | 'limit'>,
  every: number,
  isOver?: () => boolean,
): Promise<ScanExtent> {
  if (part.asOf < 0) return { entries: 0, cuts: [] }
  const until = Math.min(part.asOf, part.until ?? part.asOf)
  const sources = await types.sources(part.tenant, part.type)
  const size = sources.length === 1 ? every : Math.ceil(every / (STEPS_OF_PART * sources.length))
  const steps: Step[] = []
  // The newest position first: all partitions advance together, so little is counted twice if the count ends early.
  const idle = sources.map((source) => new SourceCount(dynamo, source, part, { until, size }))
  const width = Math.min(PARALLEL_SOURCES, sources.length)
  let failed = false
  await forEachInParallel(Array<undefined>(width).fill(undefined), width, async () => {
    for (let next = takeNewest(idle); next !== undefined && !failed; next = takeNewest(idle)) {
      if (next.position < until && isOver?.() === true) return void idle.push(next)
      const start = now()
      const step = await next.step().catch((error: unknown) => {
        failed = true
        throw error
      })
      if (step.count > 0) steps.push(step)
      if (!Number.isFinite(step.last)) continue
      const pause = isOver === undefined ? 0 : (step.count / COUNTED_PER_SECOND) * 1_000 - (now() - start)
      if (pause >= 1) await wait(pause)
      idle.push(next)
    }
  })
  const rest = Math.max(...idle.map(({ position }) => position))
  const extent = extentOf(
    steps.filter(({ last }) => last >= rest),
    until,
    every,
  )
  // The part that remains ends at `rest`. A cut at or below it would count its entries twice.
  return Number.isFinite(rest) ? { ...extent, cuts: extent.cuts.filter((cut) => cut > rest), rest } : extent
}

/** Count of one partition, from the newest entry on. */
class SourceCount {
  /** Timestamp down to which the partition is counted. */
  position: number
  readonly #steps: AsyncIterator<{ readonly count: number; readonly last?: { readonly lastUpdated: number } }>

  constructor(
    dynamo: TableClient,
    source: IndexSource,
    part: Omit<ScanRequest, 'cursor' | 'limit'>,
    { until, size }: { readonly until: number; readonly size: number },
  ) {
    this.position = until
    this.#steps = countSource(dynamo, 'c', source, sortKeyRangeOf(part), size)[Symbol.asyncIterator]()
  }

  async step(): Promise<Step> {
    const { done, value } = await this.#steps.next()
    this.position = done === true ? Number.NEGATIVE_INFINITY : (value.last?.lastUpdated ?? Number.NEGATIVE_INFINITY)
    return { count: done === true ? 0 : value.count, last: this.position }
  }
}

/** Removes the partition with the newest position from the list, and returns it. */
function takeNewest(idle: SourceCount[]): SourceCount | undefined {
  if (idle.length === 0) return undefined
  let newest = 0
  for (let i = 1; i < idle.length; i++) if (idle[i]!.position > idle[newest]!.position) newest = i
  return idle.splice(newest, 1)[0]
}

function extentOf(steps: readonly Step[], until: number, every: number): ScanExtent {
  const cuts: number[] = []
  let [entries, uncut] = [0, 0]
  let nextCut = until + 1
  for (const { count, last } of steps.toSorted((a, b) => b.last - a.last)) {
    if (uncut >= every && nextCut < (cuts.at(-1) ?? until)) {
      cuts.push(nextCut)
      uncut = 0
    }
    entries += count
    uncut += count
    if (Number.isFinite(last)) nextCut = last - 1
  }
  return { entries, cuts: cuts.toReversed() }
}
