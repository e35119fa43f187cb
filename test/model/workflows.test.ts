/** Events of the workflows by AWS's rules, against counts by hand. */
import { describe, expect, it } from '@jest/globals'
import { DEFAULT_MIX, type Load } from '../../lib/model/load.ts'
import { modelOf } from '../../lib/model/model.ts'
import { workflowUseOf } from '../../lib/model/workflow-events.ts'

const [TASK, CHOICE, WAIT, SUCCEED, MAP, AROUND] = [5, 2, 2, 2, 4, 2]
const ONE_TYPE = { ...DEFAULT_MIX, types: { Patient: 1 } }
const loadOf = (resources: number): Load => ({ resources, writes: 100, reads: 0, searches: 0, mix: ONE_TYPE })

describe('An execution', () => {
  it('has these events in a rebuild, and 7 for each further step', () => {
    const { rebuild } = modelOf(loadOf(1_000))
    // Taken, planned, opened, waited for, filled, switched, and found complete. The only lane fills the segment, and finds no other.
    const lane = AROUND + 2 * (TASK + CHOICE) + SUCCEED
    expect(rebuild.events).toBe(AROUND + 7 * (TASK + CHOICE) + 2 * WAIT + MAP + lane + SUCCEED)
    // A function indexes 120,000 documents in a step.
    expect(modelOf(loadOf(120_000)).rebuild.events).toBe(rebuild.events)
    expect(modelOf(loadOf(120_001)).rebuild.events).toBe(rebuild.events + TASK + CHOICE)
  })

  it('has no more events in a larger rebuild, which has more executions', () => {
    const [small, large] = [100e6, 10e9].map((resources) => modelOf({ ...loadOf(resources), mix: DEFAULT_MIX }).rebuild)
    expect([small!.executions, large!.executions]).toEqual([1, 43])
    expect(large!.events).toBeLessThan(20_000)
  })

  it('has these events in an export, and 11 for each further segment', () => {
    const { exported } = modelOf(loadOf(1_000))
    const segment = AROUND + TASK + CHOICE + SUCCEED
    const plans = 15 * (TASK + CHOICE) + 14 * WAIT
    expect(exported.events).toBe(AROUND + plans + MAP + segment + TASK + CHOICE + TASK + SUCCEED)
    expect(modelOf(loadOf(100_000)).exported.events).toBe(exported.events + segment)
  })

  it('is refused if the workflow lacks a state', () =>
    expect(() => workflowUseOf({ States: { Done: { Type: 'Succeed' } } }, { Fill: 1 }, 0)).toThrow(
      'the workflow has no state Fill whose events are known',
    ))
})

describe('A rebuild', () => {
  it('is wider the longer it would take', () => {
    const widths = [10e6, 100e6, 200e6, 1e9].map((resources) => modelOf({ ...loadOf(resources), mix: DEFAULT_MIX }).rebuild)
    expect(widths.map(({ width }) => width)).toEqual([2, 4, 8, 32])
    // 500 documents per second and function.
    const { hours, planMinutes } = widths.at(-1)!
    expect(hours - planMinutes / 60).toBeCloseTo(1e9 / (32 * 500) / 3_600)
  })

  it('counts 80,000 entries per second in each partition of a type, type by type', () => {
    const { planMinutes } = modelOf({ ...loadOf(1e9), mix: DEFAULT_MIX }).rebuild
    expect(planMinutes).toBeCloseTo(1e9 / 4 / 80_000 / 60, 0)
  })
})
