/** Plans of stores that are too large to count in one step, in simulated time. */
import { describe, expect, it } from '@jest/globals'
import { segmentRowsOf } from '../../../lambdas/export/job/job.ts'
import type { Segment } from '../../../lambdas/export/plan/segment.ts'
import { SMALLEST } from '../../../lambdas/export/plan/segment-packing.ts'
import type { ExportParts, PlanOutput } from '../../../lambdas/export/step-types.ts'
import { exportStep } from '../../../lambdas/export/workflow/workflow-step.ts'
import { exportWorkflow } from '../../../lambdas/export/workflow.ts'
import { EXPORT_STEP_MS, LONGEST_PLAN_MS } from '../../../lambdas/runtime/step-times.ts'
import { EXPORTED_PER_SECOND } from '../../../lib/model/assumptions.ts'
import { MAX_EVENTS, workflowUseOf } from '../../../lib/model/workflow-events.ts'
import { DEFAULT_SHARDS } from '../../../lib/settings/index-shards.ts'
import { type SimulatedType, SleepClock, simulatedCounts } from '../../fixtures/dynamodb/simulated-counts.ts'
import { type ExportWorld, jobOf } from '../../fixtures/exporting.ts'
import { MemoryBlobs } from '../../fixtures/memory/blobs.ts'
import { MemoryRows } from '../../fixtures/memory/kept-rows.ts'
import { instantAt } from '../../fixtures/versions.ts'
import { exportPartsOf, kickOff, readJob } from '../export-run.ts'
import { randomOf } from '../ward.ts'

const YEAR = 365 * 24 * 60 * 60_000
const SPAN = [instantAt(0) - 2 * YEAR, instantAt(0)] as const
const MINUTE = 60_000
const even = (partitions: number): readonly number[] => Array.from({ length: partitions }, () => 1 / partitions)

type Simulation = { readonly types: Readonly<Record<string, SimulatedType>>; readonly budget?: number; readonly deaths?: number }

/** Returns the milliseconds of each step of a plan, and its segments. `deaths`: one in so many queries ends the function. */
async function simulatePlan({ types, budget = EXPORT_STEP_MS, deaths = 0 }: Simulation) {
  const random = randomOf(1)
  const clock = new SleepClock()
  const unitsOfSecond = new Map<string, number>()
  let [queries, stepEnds] = [0, 0]
  const { extent } = simulatedCounts(types, SPAN, clock, ({ key, units }) => {
    queries++
    const second = `${key} ${Math.floor(clock.ms / 1_000)}`
    unitsOfSecond.set(second, (unitsOfSecond.get(second) ?? 0) + units)
    if (deaths > 0 && random(deaths) === 0) throw new Error('the function died')
  })
  const stores = { rows: new MemoryRows(), blobs: new MemoryBlobs(), index: {} as ExportWorld['index'] }
  const resources = { extent, settled: async () => true } as unknown as ExportParts['resources']
  const parts = exportPartsOf({ ...stores, resources }, { elapsed: () => clock.ms, budget, longestPlan: LONGEST_PLAN_MS })
  await kickOff(parts, jobOf(0, { id: 'large', level: 'system', asked: { types: Object.keys(types) } }))
  const steps: number[] = []
  let failures = 0
  for (;;) {
    const output = await exportStep(parts)({ action: 'plan', job: 'large', attempt: 1 }).catch(() => undefined)
    steps.push(clock.ms - stepEnds)
    stepEnds = clock.ms
    if (output === undefined) failures++
    else if ((output as PlanOutput).wait === 0) break
  }
  const segments: Segment[] = []
  for await (const { name, value } of parts.rows.list<Segment>(segmentRowsOf('large'))) if (name !== 'plan') segments.push(value)
  const hottest = [...unitsOfSecond.values()].reduce((a, b) => Math.max(a, b))
  return { steps, failures, queries, hottest, segments, job: await readJob(parts, 'large') }
}

/** Checks that the pieces of each type are disjoint, and that together they are its whole scan. */
function expectWhole(segments: readonly Segment[], types: readonly string[]): void {
  const pieces = Map.groupBy(
    segments.flatMap(({ pieces }) => pieces),
    ({ type }) => type,
  )
  expect([...pieces.keys()].toSorted()).toEqual([...types].toSorted())
  for (const [, own] of pieces) {
    const rising = own.toSorted((a, b) => a.until - b.until)
    expect(rising.map(({ since }) => since)).toEqual([undefined, ...rising.slice(0, -1).map(({ until }) => until)])
    expect(rising.at(-1)!.until).toBe(instantAt(0))
  }
}

describe('The plan of an export', () => {
  it('counts a billion resources in half an hour of function time, although functions die', async () => {
    const types: Record<string, SimulatedType> = { Observation: { entries: 800e6, partitions: even(20) } }
    for (const type of Object.keys(DEFAULT_SHARDS)) types[type] ??= { entries: 20e6, partitions: even(4) }
    const { steps, failures, hottest, segments, job } = await simulatePlan({ types, deaths: 200_000 })
    expect(failures).toBeGreaterThan(0)
    const minutes = steps.reduce((sum, each) => sum + each) / MINUTE
    expect(minutes).toBeLessThan(30)
    expect(hottest).toBeLessThan(2_000)
    expect(Math.max(...steps)).toBeLessThan(LONGEST_PLAN_MS)
    expect(segments.length).toBeLessThanOrEqual(1_000)
    expectWhole(segments, Object.keys(types))
    const total = 800e6 + 20e6 * (Object.keys(types).length - 1)
    expect(job.total! / total).toBeCloseTo(1, 2)
    const writes = segments.map(({ pieces }) => {
      const entries = pieces.reduce((sum, each) => sum + each.entries, 0)
      return Math.ceil(entries / ((EXPORTED_PER_SECOND * EXPORT_STEP_MS) / 1_000))
    })
    const all = writes.reduce((sum, each) => sum + each)
    const { events } = workflowUseOf(
      exportWorkflow('step'),
      {
        ...{ Plan: steps.length, Planned: steps.length, UntilSettled: steps.length, EachSegment: 1, Write: all, WriteMore: all },
        ...{ WriteDone: segments.length, Gather: 1, Gathered: 1, Finish: 1, Done: 1 },
      },
      segments.length,
    )
    expect(events).toBeLessThan(MAX_EVENTS)
  })

  it.each([1, 20, 40])('counts nothing twice in many steps, with %d partitions', async (partitions) => {
    const types = { Observation: { entries: 20e6, partitions: even(partitions) }, Patient: { entries: 1e6, partitions: even(1) } }
    const [one, many] = [await simulatePlan({ types, budget: Number.POSITIVE_INFINITY }), await simulatePlan({ types, budget: 5_000 })]
    expect([one.steps.length, many.steps.length > 2]).toEqual([1, true])
    expect(many.queries).toBeLessThan(one.queries * 1.02)
    for (const { segments, job } of [one, many]) {
      expect(job.total! / 21e6).toBeCloseTo(1, 1)
      expectWhole(segments, Object.keys(types))
      const sizes = segments.map(({ pieces }) =>
        pieces.reduce((sum, { type, since = SPAN[0], until }) => sum + entriesOf(types, type, since, until), 0),
      )
      expect(Math.max(...sizes)).toBeLessThan(1.3 * SMALLEST)
    }
  })
})

/** Returns the entries of a part of a type. */
const entriesOf = (types: Simulation['types'], type: string, since: number, until: number): number =>
  (types[type]!.entries * (until - since)) / (SPAN[1] - SPAN[0])
