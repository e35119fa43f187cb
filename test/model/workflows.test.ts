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
    const segment = AROUND + TASK + CHOICE + SUCCEED
    const type = AROUND + TASK + CHOICE + WAIT + MAP + 4 * segment + TASK
    expect(rebuild.events).toBe(AROUND + 2 * (TASK + CHOICE) + WAIT + MAP + type + SUCCEED)
    // A function indexes 120,000 documents in a step.
    expect(modelOf(loadOf(4 * 120_000)).rebuild.events).toBe(rebuild.events)
    expect(modelOf(loadOf(4 * 120_001)).rebuild.events).toBe(rebuild.events + 4 * (TASK + CHOICE))
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
  it('is wider the longer it would take, and takes four functions for a type at most', () => {
    const widths = [10e6, 100e6, 200e6, 1e9].map((resources) => modelOf({ ...loadOf(resources), mix: DEFAULT_MIX }).rebuild)
    expect(widths.map(({ width }) => width)).toEqual([2, 4, 8, 16])
    // 800 million Observations, 500 documents per second and function.
    expect(widths.at(-1)!.hours).toBeCloseTo(800e6 / (4 * 500) / 3_600)
  })
})
