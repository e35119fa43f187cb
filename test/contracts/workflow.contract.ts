/** What lambdas/ports/execution/workflow.ts promises, as tests: every adapter that runs steps itself runs this suite. */
import { describe, expect, it } from '@jest/globals'
import type { Workflow } from '../../lambdas/ports/execution/workflow.ts'

export type StepsInput = { readonly action: string; readonly job: string; readonly item?: number }
export type Step = (input: StepsInput) => Promise<unknown>

export type WorkflowUnderTest = {
  readonly workflow: Workflow
  /** When nothing is under way any more. */
  readonly idle: () => Promise<void>
}

const RETRY = [{ ErrorEquals: ['States.ALL'], IntervalSeconds: 1, BackoffRate: 2, MaxAttempts: 2, MaxDelaySeconds: 2 }]
const STEP = 'arn:aws:lambda:us-east-1:000000000000:function:step'

const task = (action: string, rest: object, more: object = {}): object => ({
  Type: 'Task',
  Resource: STEP,
  Parameters: { action, 'job.$': '$.job', ...more },
  Retry: RETRY,
  ...rest,
})
const failing = { Catch: [{ ErrorEquals: ['States.ALL'], ResultPath: '$.error', Next: 'Fail' }] }

/** `plan` gives items; `write` is asked for each until it has no more; `finish`, or `fail`. */
export const TEST_STATE_MACHINE = {
  StartAt: 'Plan',
  States: {
    Plan: task('plan', { Next: 'Planned', ...failing }),
    Planned: { Type: 'Choice', Choices: [{ Variable: '$.wait', NumericGreaterThan: 0, Next: 'Later' }], Default: 'EachItem' },
    Later: { Type: 'Wait', SecondsPath: '$.wait', Next: 'Plan' },
    EachItem: {
      Type: 'Map',
      ItemsPath: '$.items',
      MaxConcurrency: 3,
      ItemSelector: { 'job.$': '$.job', 'item.$': '$$.Map.Item.Value' },
      ItemProcessor: {
        ProcessorConfig: { Mode: 'INLINE' },
        StartAt: 'Write',
        States: {
          Write: task('write', { Next: 'More' }, { 'item.$': '$.item' }),
          More: { Type: 'Choice', Choices: [{ Variable: '$.more', BooleanEquals: true, Next: 'Write' }], Default: 'Written' },
          Written: { Type: 'Succeed' },
        },
      },
      ResultPath: null,
      Next: 'Finish',
      ...failing,
    },
    Finish: task('finish', { Next: 'Done', ...failing }),
    Done: { Type: 'Succeed' },
    Fail: task('fail', { Next: 'Failed' }),
    Failed: { Type: 'Fail', Error: 'ItFailed' },
  },
}

const NO_NAMES = ['', 'a b', 'a/b', 'a.b', 'ä', 'a\n', 'n'.repeat(81)]

/** `create` gives workflows whose waits take no time. */
export function workflowContract(name: string, create: (machine: object, step: Step) => Promise<WorkflowUnderTest>): void {
  /** Steps by name; what it gives for one that is not named is what ends it soonest. */
  const opened = async (steps: Readonly<Record<string, Step>> = {}) => {
    const asked: string[] = []
    const step: Step = async (input) => {
      asked.push([input.action, input.job, input.item].filter((each) => each !== undefined).join(' '))
      const { job, item } = input
      const soon = { plan: { job, wait: 0, items: [] }, write: { job, item, more: false } }[input.action] ?? {}
      return (await steps[input.action]?.(input)) ?? soon
    }
    return { asked, ...(await create(TEST_STATE_MACHINE, step)) }
  }
  const planned =
    (...items: readonly number[]): Step =>
    async ({ job }) => ({ job, wait: 0, items })

  describe(`${name}: a workflow`, () => {
    it('runs its steps, and is running until the last has ended', async () => {
      const running: boolean[] = []
      const { workflow, idle, asked } = await opened({
        plan: async ({ job }) => {
          running.push(await workflow.isRunning('one'))
          return { job, wait: asked.length < 3 ? 7 : 0, items: [4, 5] }
        },
        write: async ({ job, item }) => ({ job, item, more: asked.filter((each) => each === `write a ${item}`).length < (item ?? 0) - 2 }),
      })
      expect(await workflow.isRunning('one')).toBe(false)
      await workflow.start('one', { job: 'a' })
      await idle()
      expect([asked[0], asked[1], asked[2], asked.at(-1)]).toEqual(['plan a', 'plan a', 'plan a', 'finish a'])
      expect(asked.slice(3, -1).toSorted()).toEqual(['write a 4', 'write a 4', 'write a 5', 'write a 5', 'write a 5'])
      expect([running, await workflow.isRunning('one')]).toEqual([[true, true, true], false])
    })

    it('writes nothing without items', async () => {
      const { workflow, idle, asked } = await opened()
      await workflow.start('one', { job: 'a' })
      await idle()
      expect(asked).toEqual(['plan a', 'finish a'])
    })

    it('is started once per name, and beside others', async () => {
      const { workflow, idle, asked } = await opened({ plan: planned(1) })
      await Promise.all([workflow.start('one', { job: 'a' }), workflow.start('one', { job: 'b' }), workflow.start('two', { job: 'c' })])
      await workflow.start('one', { job: 'd' })
      await idle()
      expect(asked.toSorted()).toEqual(['finish a', 'finish c', 'plan a', 'plan c', 'write a 1', 'write c 1'])
    })

    it('starts no further step once stopped, while others go on', async () => {
      const { workflow, idle, asked } = await opened({
        plan: planned(1, 2, 3, 4, 5),
        write: async ({ job, item }) => {
          if (job === 'a' && item === 2) await workflow.stop('one')
          return { job, item, more: job === 'a' }
        },
      })
      await Promise.all([workflow.start('one', { job: 'a' }), workflow.start('two', { job: 'b' })])
      await idle()
      const mine = asked.filter((each) => each.includes(' a'))
      expect(mine.slice(mine.indexOf('write a 2') + 1).filter((each) => each !== 'write a 3')).toEqual([])
      expect(asked).toContain('finish b')
      expect([await workflow.isRunning('one'), await workflow.isRunning('two')]).toEqual([false, false])
    })

    it('is not running once stopped during a wait, and stop is idempotent', async () => {
      let isAsked = false
      const { workflow, idle, asked } = await opened({
        plan: async () => {
          if (isAsked) await workflow.stop('one')
          isAsked = true
          throw new Error('planted')
        },
      })
      await workflow.start('one', { job: 'a' })
      await idle()
      expect([asked, await workflow.isRunning('one')]).toEqual([['plan a', 'plan a'], false])
      await workflow.stop('one')
      await workflow.stop('never')
      expect(await workflow.isRunning('never')).toBe(false)
    })

    it('retries a failed step', async () => {
      let faults = 2
      const { workflow, idle, asked } = await opened({
        plan: planned(1),
        write: async () => {
          if (faults-- > 0) throw new Error('planted')
          return undefined
        },
      })
      await workflow.start('one', { job: 'a' })
      await idle()
      expect(asked).toEqual(['plan a', 'write a 1', 'write a 1', 'write a 1', 'finish a'])
    })

    it('runs its failure step if a step fails permanently, and has ended', async () => {
      const { workflow, idle, asked } = await opened({
        finish: async () => {
          throw new Error('planted')
        },
      })
      await workflow.start('one', { job: 'a' })
      await idle()
      expect(asked).toEqual(['plan a', 'finish a', 'finish a', 'finish a', 'fail a'])
      expect(await workflow.isRunning('one')).toBe(false)
    })

    it('starts no further writer once one has failed permanently', async () => {
      const { workflow, idle, asked } = await opened({
        plan: planned(1, 2, 3, 4, 5, 6, 7, 8, 9),
        write: async ({ job, item }) => {
          // While others are being tried again, and others of them go on.
          if (item === 1 || item === 2) throw new Error('planted')
          await new Promise((resolve) => setImmediate(resolve))
          return { job, item, more: true }
        },
        fail: async () => {
          for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
          return {}
        },
      })
      await workflow.start('one', { job: 'a' })
      await idle()
      expect(asked.at(-1)).toBe('fail a')
      expect(asked).not.toContain('write a 9')
      expect(await workflow.isRunning('one')).toBe(false)
    })

    it('uses its input as of the start', async () => {
      const given = { job: 'a', list: [1] }
      const { workflow, idle, asked } = await opened()
      const started = workflow.start('one', given)
      given.job = 'b'
      await started
      await idle()
      expect(asked).toEqual(['plan a', 'finish a'])
    })

    it.each(NO_NAMES.map((each) => [each]))('rejects the name %j with RangeError', async (each) => {
      const { workflow, idle, asked } = await opened()
      await expect(workflow.start(each, {})).rejects.toThrow(RangeError)
      await expect(workflow.stop(each)).rejects.toThrow(RangeError)
      await expect(workflow.isRunning(each)).rejects.toThrow(RangeError)
      await idle()
      expect(asked).toEqual([])
    })
  })
}
