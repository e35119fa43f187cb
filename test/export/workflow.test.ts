/** The state machine of exports: a definition that AWS accepts and the embedded deployment runs in the same way. */
import { describe, expect, it } from '@jest/globals'
import validate from 'asl-validator'
import { InProcessWorkflow } from '../../lambdas/adapters/in-process/workflow.ts'
import type { PlanOutput, RangePlanOutput, SliceOutput, StepInput } from '../../lambdas/export/step-types.ts'
import { exportWorkflow } from '../../lambdas/export/workflow.ts'

const STEP = 'arn:aws:lambda:us-east-1:000000000000:function:step'
const JOB = { job: 'j1', attempt: 3 }

type Steps = Partial<{
  plan: (n: number) => Partial<PlanOutput>
  write: (segment: string, n: number) => Promise<boolean>
  gather: (n: number) => readonly string[]
  collect: (range: string, n: number) => Promise<boolean>
  finish: () => void
}>

/** Returns the calls of the steps in order. `n`: how often the same step was called so far, from 1. */
async function run(steps: Steps) {
  const asked: string[] = []
  const reported: Error[] = []
  const ofJob = async (input: StepInput): Promise<PlanOutput | RangePlanOutput | SliceOutput | object> => {
    const { job, attempt } = input
    expect({ job, attempt }).toEqual(JOB)
    const name = input.action === 'write' ? `write ${input.segment}` : input.action === 'collect' ? `collect ${input.range}` : input.action
    asked.push(name)
    const n = asked.filter((each) => each === name).length
    switch (input.action) {
      case 'plan':
        return { ...JOB, wait: 0, segments: [], ...steps.plan?.(n) }
      case 'write':
        return { ...JOB, segment: input.segment, more: (await steps.write?.(input.segment, n)) ?? false }
      case 'gather':
        return { ...JOB, ranges: steps.gather?.(n) ?? [] }
      case 'collect':
        return { ...JOB, range: input.range, more: (await steps.collect?.(input.range, n)) ?? false }
      default:
        if (input.action === 'finish') steps.finish?.()
        return {}
    }
  }
  const report = (error: unknown) => void reported.push(error as Error)
  const definition = exportWorkflow(STEP)
  const workflow = new InProcessWorkflow({ definition, step: ofJob, writers: 40, report, pause: async () => undefined, waits: 0 })
  await workflow.start('j1-3', JOB)
  await workflow.idle()
  return { asked, reported }
}

const counts = (asked: readonly string[]): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(Object.groupBy(asked, (each) => each)).map(([name, all]) => [name, all!.length]))

describe('The workflow of an export', () => {
  it('is valid for AWS Step Functions', () => {
    const { isValid, errors } = validate(exportWorkflow(STEP))
    expect([isValid, errors]).toEqual([true, []])
  })

  it('uses no feature that the embedded workflow lacks', () => {
    const text = JSON.stringify(exportWorkflow(STEP))
    for (const unknown of [
      'QueryLanguage',
      'DISTRIBUTED',
      'ItemBatcher',
      'ItemReader',
      'ResultWriter',
      'Tolerated',
      'Heartbeat',
      'Parallel',
    ])
      expect(text).not.toContain(unknown)
  })

  it('waits until writes are settled, and finishes if there is nothing to write', async () => {
    const { asked, reported } = await run({ plan: (n) => ({ wait: n < 4 ? 1 : 0 }) })
    expect([asked, reported]).toEqual([['plan', 'plan', 'plan', 'plan', 'gather', 'finish'], []])
  })

  it('repeats each writer, then gathers and collects until there are no new ranges', async () => {
    const segments = Array.from({ length: 120 }, (_, i) => `s${i}`)
    const { asked, reported } = await run({
      plan: () => ({ segments }),
      write: async (_, n) => n < 3,
      gather: (n) => [['r0', 'r1'], ['r1'], []][n - 1]!,
      collect: async (_, n) => n === 1,
    })
    expect(counts(asked)).toEqual({
      plan: 1,
      ...Object.fromEntries(segments.map((segment) => [`write ${segment}`, 3])),
      gather: 3,
      'collect r0': 2,
      'collect r1': 3,
      finish: 1,
    })
    const [first, second, third] = asked.flatMap((each, i) => (each === 'gather' ? [i] : []))
    expect(asked.slice(0, first)).toHaveLength(361)
    expect(asked.slice(first! + 1, second).toSorted()).toEqual(['collect r0', 'collect r0', 'collect r1', 'collect r1'])
    expect(asked.slice(second!)).toEqual(['gather', 'collect r1', 'gather', 'finish'])
    expect([third, reported]).toEqual([asked.length - 2, []])
  })

  it.each(['plan', 'write', 'gather', 'collect', 'finish'] as const)('ends with fail if %s fails for half an hour', async (broken) => {
    const fail = (): never => {
      throw new Error('planted')
    }
    const { asked, reported } = await run({
      plan: () => ({ segments: ['s0', 's1'] }),
      gather: (n) => (n === 1 ? ['r0'] : []),
      [broken]: fail,
    })
    expect(counts(asked)[broken === 'write' ? 'write s0' : broken === 'collect' ? 'collect r0' : broken]).toBe(61)
    expect(counts(asked).fail).toBe(1)
    expect(asked.at(-1)).toBe('fail')
    expect(reported.map(({ cause }) => (cause as Error).name)).toEqual(['ExportFailed'])
  })

  it('retries a failing store for at least half an hour, despite random delays', () => {
    const { States } = exportWorkflow(STEP) as { readonly States: Readonly<Record<string, { readonly Retry?: readonly Retry[] }>> }
    const [{ IntervalSeconds, BackoffRate, MaxAttempts, MaxDelaySeconds } = NONE] = States.Plan!.Retry!.slice(-1)
    const waits = Array.from({ length: MaxAttempts }, (_, i) => Math.min(IntervalSeconds * BackoffRate ** i, MaxDelaySeconds))
    // Each delay is random between zero and its maximum. The first writer that gives up ends the job: one in millions may.
    const mean = waits.reduce((sum, each) => sum + each / 2, 0)
    const deviation = Math.sqrt(waits.reduce((sum, each) => sum + each ** 2 / 12, 0))
    expect(mean - 5 * deviation).toBeGreaterThan(30 * 60)
  })
})

type Retry = Readonly<Record<'IntervalSeconds' | 'BackoffRate' | 'MaxAttempts' | 'MaxDelaySeconds', number>>
const NONE: Retry = { IntervalSeconds: 0, BackoffRate: 0, MaxAttempts: 0, MaxDelaySeconds: 0 }
