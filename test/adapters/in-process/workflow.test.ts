/** Workflows of the embedded server: the contract, the number of writers, reports, and closing. */
import { describe, expect, it } from '@jest/globals'
import { InProcessWorkflow, type InProcessWorkflowOptions } from '../../../lambdas/adapters/in-process/workflow.ts'
import { type StepsInput, TEST_STATE_MACHINE, workflowContract } from '../../contracts/workflow.contract.ts'
import { waitOneTurn } from '../../fixtures/turns.ts'

function opened(options: Partial<InProcessWorkflowOptions> = {}) {
  const reported: Error[] = []
  const report = (error: unknown) => void reported.push(error as Error)
  const fixed = { definition: TEST_STATE_MACHINE, writers: 40, report, pause: async () => undefined, waits: 0 }
  return { reported, workflow: new InProcessWorkflow({ ...fixed, step: async () => undefined, ...options }) }
}

workflowContract('in process', async (definition, step) => {
  const { workflow } = opened({ definition, step })
  return { workflow, idle: () => workflow.idle() }
})

const items = Array.from({ length: 9 }, (_, i) => i)

describe('Workflows in this process', () => {
  it.each([
    [1, 1],
    [2, 2],
    // Two executions, each with three at once.
    [40, 6],
  ])('with %i writers run %i map steps at once', async (writers, most) => {
    let [now, seen, written] = [0, 0, 0]
    const { workflow } = opened({
      writers,
      step: async ({ action, job, item }: StepsInput) => {
        if (action !== 'write') return { job, wait: 0, items }
        seen = Math.max(seen, ++now)
        await waitOneTurn()
        await waitOneTurn()
        now--
        written++
        return { job, item, more: false }
      },
    })
    await Promise.all([workflow.start('one', { job: 'a' }), workflow.start('two', { job: 'b' })])
    await workflow.idle()
    expect([seen, written]).toEqual([most, 18])
  })

  it('report the cause of a failure once, and nothing for a stopped execution', async () => {
    const { workflow, reported } = opened({
      step: async ({ action, job }: StepsInput) => {
        if (action === 'plan') throw new Error(`planted in ${job}`)
        return {}
      },
    })
    await workflow.start('one', { job: 'a' })
    await workflow.idle()
    expect(reported.map(({ message, cause }) => [message, (cause as Error).name])).toEqual([['the execution one failed', 'ItFailed']])
    await workflow.start('two', { job: 'b' })
    await workflow.stop('two')
    await workflow.idle()
    expect(reported).toHaveLength(1)
  })

  it('wait longer before each attempt, up to the maximum', async () => {
    const waited: number[] = []
    const { workflow } = opened({
      definition: retrying({ MaxAttempts: 4, MaxDelaySeconds: 5 }),
      pause: async (ms) => void waited.push(ms),
      step: () => Promise.reject(new Error('planted')),
    })
    await workflow.start('one', {})
    await workflow.idle()
    expect(waited).toEqual([1_000, 2_000, 4_000, 5_000])
  })

  it('retry only the errors that their definition names', async () => {
    let asked = 0
    const { workflow } = opened({
      definition: retrying({ ErrorEquals: ['RangeError'] }),
      step: () => {
        asked++
        return Promise.reject(new Error('planted'))
      },
    })
    await workflow.start('one', {})
    await workflow.idle()
    expect(asked).toBe(1)
  })

  it('continue the other items of a map after a failure that the definition catches', async () => {
    const written: number[] = []
    const { workflow, reported } = opened({
      definition: CATCHING,
      writers: 1,
      step: async ({ item }: StepsInput) => {
        if (item === 2) throw new Error('planted')
        written.push(item!)
        return {}
      },
    })
    await workflow.start('one', { items: [1, 2, 3] })
    await workflow.idle()
    expect([written, reported]).toEqual([[1, 3], []])
  })

  it('fail if a step returns more than the service carries', async () => {
    const asked: string[] = []
    const { workflow, reported } = opened({
      step: async ({ action, job }: StepsInput) => {
        asked.push(action)
        return { job, wait: 0, items: ['x'.repeat(262_144)] }
      },
    })
    await workflow.start('one', { job: 'a' })
    await workflow.idle()
    expect([asked, (reported[0]!.cause as Error).name]).toEqual([['plan'], 'States.DataLimitExceeded'])
    await expect(workflow.start('two', { job: 'x'.repeat(262_144) })).rejects.toThrow('more than')
    expect(await workflow.isRunning('two')).toBe(false)
  })

  it('close after their running steps, and accept nothing afterwards', async () => {
    const ended: string[] = []
    let begun: () => void = () => undefined
    const isBegun = new Promise<void>((resolve) => {
      begun = resolve
    })
    const { workflow } = opened({
      step: async ({ action, job, item }: StepsInput) => {
        if (action !== 'write') return { job, wait: 0, items }
        begun()
        for (let i = 0; i < 10; i++) await waitOneTurn()
        ended.push(`${item}`)
        return { job, item, more: true }
      },
    })
    await workflow.start('one', { job: 'a' })
    await isBegun
    await workflow.close()
    expect(ended).toEqual(['0', '1', '2'])
    expect(await workflow.isRunning('one')).toBe(false)
    await expect(workflow.start('two', {})).rejects.toThrow('closed')
  })
})

const retrying = (retrier: object): object => ({
  StartAt: 'Only',
  States: {
    Only: {
      Type: 'Task',
      Resource: 'arn:aws:lambda:us-east-1:000000000000:function:step',
      Retry: [{ ErrorEquals: ['States.ALL'], IntervalSeconds: 1, BackoffRate: 2, ...retrier }],
      End: true,
    },
  },
})

const CATCHING = {
  StartAt: 'Each',
  States: {
    Each: {
      Type: 'Map',
      ItemsPath: '$.items',
      ItemProcessor: {
        StartAt: 'Write',
        States: {
          Write: {
            Type: 'Task',
            Resource: 'arn:aws:lambda:us-east-1:000000000000:function:step',
            Parameters: { 'item.$': '$' },
            Catch: [{ ErrorEquals: ['States.ALL'], Next: 'Written' }],
            Next: 'Written',
          },
          Written: { Type: 'Succeed' },
        },
      },
      End: true,
    },
  },
}
