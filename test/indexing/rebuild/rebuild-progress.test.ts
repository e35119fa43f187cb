/** Stored progress of rebuilds: lanes of one execution share the segments, and those of an earlier execution change nothing. */
import { describe, expect, it } from '@jest/globals'
import { type BegunSegment, isComplete, type Lane, RebuildProgress } from '../../../lambdas/indexing/rebuild/rebuild-progress.ts'
import { MemoryRows } from '../../fixtures/memory/kept-rows.ts'

const PATIENT = { type: 'Patient', attempt: 'one' }
const laneOf = (execution: string, lane: number): Lane => ({ execution, lane, types: [PATIENT] })

async function planned(cuts: readonly number[] = [10, 20]): Promise<RebuildProgress> {
  const progress = new RebuildProgress(new MemoryRows())
  await progress.addPlan(PATIENT, { attempt: 'one', cuts })
  await progress.setIndex(PATIENT, { next: 'v2', at: 0 })
  return progress
}

const claimed = async (progress: RebuildProgress, ...lane: Parameters<typeof laneOf>): Promise<BegunSegment> =>
  (await progress.claim(laneOf(...lane), 7))!

const endOf = ({ progress }: BegunSegment) => ({ ...progress, count: 5, isDone: true as const })

describe('The progress of a rebuild', () => {
  it('has adjacent segments up to the present, once the index is chosen', async () => {
    const progress = new RebuildProgress(new MemoryRows())
    await progress.addPlan(PATIENT, { attempt: 'one', cuts: [10, 20] })
    expect(await progress.segments(PATIENT)).toEqual([])
    await progress.setIndex(PATIENT, { next: 'v2', at: 0 })
    const segments = await progress.segments(PATIENT)
    expect(segments.map(({ since, until }) => [since, until])).toEqual([
      [undefined, 10],
      [10, 20],
      [20, undefined],
    ])
  })

  it('retains the segments of an unfinished plan that an earlier release has begun to fill', async () => {
    const progress = new RebuildProgress(new MemoryRows())
    await progress.addPlan(PATIENT, { attempt: 'one', cuts: [10, 20], count: { totals: [] } })
    await progress.setIndex(PATIENT, { next: 'v2', at: 0 })
    const first = await claimed(progress, 'a', 0)
    await progress.save(first, endOf(first))
    const before = await progress.segments(PATIENT)
    expect(isComplete(await progress.plan(PATIENT))).toBe(true)
    await progress.addPlan(PATIENT, { attempt: 'one', cuts: [5, 10, 20] })
    expect(await progress.segments(PATIENT)).toEqual(before)
  })

  it('gives each lane another segment, and again its own until that is complete', async () => {
    const progress = await planned()
    const first = await claimed(progress, 'a', 0)
    const second = await claimed(progress, 'a', 1)
    const again = await claimed(progress, 'a', 0)
    expect([first, second, again].map(({ name }) => name)).toEqual(['segment-0000', 'segment-0001', 'segment-0000'])
    await progress.save(first, endOf(first))
    expect((await claimed(progress, 'a', 0)).name).toBe('segment-0002')
    expect(await progress.claim(laneOf('a', 2), 7)).toBeUndefined()
  })

  it('lets another execution continue at the position, after the segments that no lane has begun', async () => {
    const progress = await planned()
    const first = await claimed(progress, 'a', 0)
    await progress.save(first, { ...first.progress, tenant: 't', cursor: 'c', count: 3 })
    const others = [await claimed(progress, 'b', 0), await claimed(progress, 'b', 1), await claimed(progress, 'b', 2)]
    expect(others.map(({ name }) => name)).toEqual(['segment-0001', 'segment-0002', 'segment-0000'])
    expect(others[2]!.progress).toEqual({ attempt: 'one', by: 'b/2', tries: 2, asOf: 7, tenant: 't', cursor: 'c', count: 3 })
  })

  it('takes no position from a lane after another execution has continued its segment', async () => {
    const progress = await planned([])
    const first = await claimed(progress, 'a', 0)
    await claimed(progress, 'b', 0)
    expect(await progress.save(first, endOf(first))).toBe(false)
    expect((await progress.segments(PATIENT))[0]!.progress?.isDone).toBeUndefined()
    expect(await progress.claim({ ...laneOf('a', 0), types: [], held: { ...PATIENT, name: first.name } }, 7)).toBeUndefined()
  })

  it('keeps the first plan of an attempt, and begins again with another attempt', async () => {
    const progress = await planned()
    const first = await claimed(progress, 'a', 0)
    await progress.save(first, endOf(first))
    await progress.addPlan(PATIENT, { attempt: 'one', cuts: [] })
    expect(await progress.segments(PATIENT)).toHaveLength(3)
    const other = { ...PATIENT, attempt: 'two' }
    expect(await progress.plan(other)).toBeUndefined()
    await progress.addPlan(other, { attempt: 'two', cuts: [] })
    await progress.setIndex(other, { next: 'v3', at: 0 })
    expect([await progress.segments(PATIENT), await progress.segments(other)]).toEqual([
      [],
      [{ ...other, name: 'segment-0000', next: 'v3' }],
    ])
    expect((await progress.claim({ ...laneOf('a', 0), types: [other] }, 9))!.progress).toMatchObject({ attempt: 'two', count: 0, asOf: 9 })
  })
})
