/** Executions of the workflow of the previous release, whose steps are those of this release after a deployment. */
import { describe, expect, it } from '@jest/globals'
import { InProcessWorkflow } from '../../../lambdas/adapters/in-process/workflow.ts'
import { requestNewIndices } from '../../../lambdas/indexing/lifecycle/rebuild-queue.ts'
import { rebuildStep } from '../../../lambdas/indexing/rebuild/rebuild-steps.ts'
import { createRebuildWorld, type RebuildWorld, STEP_FUNCTION_ARN } from '../rebuilt-world.ts'

const task = (action: string, Parameters: object, rest: object) => ({
  Type: 'Task',
  Resource: STEP_FUNCTION_ARN,
  Parameters: { action, ...Parameters },
  ...rest,
})
const OF_TYPE = { 'type.$': '$.type', 'attempt.$': '$.attempt' }

/** The workflow of the previous release. */
const EARLIER = {
  StartAt: 'Take',
  States: {
    Take: task('take', { 'execution.$': '$$.Execution.Name' }, { Next: 'Anything' }),
    Anything: { Type: 'Choice', Choices: [{ Variable: '$.pending', BooleanEquals: true, Next: 'UntilAllKnow' }], Default: 'Done' },
    UntilAllKnow: { Type: 'Wait', SecondsPath: '$.wait', Next: 'EachType' },
    EachType: {
      Type: 'Map',
      ItemsPath: '$.types',
      ItemProcessor: {
        StartAt: 'Open',
        States: {
          Open: task('open', OF_TYPE, { Next: 'Empty' }),
          Empty: { Type: 'Choice', Choices: [{ Variable: '$.isEmpty', BooleanEquals: true, Next: 'Swap' }], Default: 'UntilAllFollow' },
          UntilAllFollow: { Type: 'Wait', SecondsPath: '$.wait', Next: 'EachSegment' },
          EachSegment: {
            Type: 'Map',
            ItemsPath: '$.segments',
            ResultPath: null,
            ItemProcessor: {
              StartAt: 'Fill',
              States: {
                Fill: task('fill', { 'segment.$': '$' }, { Next: 'More' }),
                More: { Type: 'Choice', Choices: [{ Variable: '$.more', BooleanEquals: true, Next: 'Fill' }], Default: 'Filled' },
                Filled: { Type: 'Succeed' },
              },
            },
            Next: 'Swap',
          },
          Swap: task('swap', { ...OF_TYPE, 'next.$': '$.next' }, { End: true }),
        },
      },
      ResultPath: null,
      Next: 'Take',
    },
    Done: { Type: 'Succeed' },
  },
}

const ATTEMPT = 'before~1000'
const SEGMENT = { type: 'Patient', attempt: ATTEMPT, next: 'v2', asOf: 1_000, cursor: 'x' }

/** Results of the steps of the previous release, in the order in which an execution gets them. */
const RESULTS: Readonly<Record<string, object>> = {
  take: { pending: true, wait: 0, types: [{ type: 'Patient', attempt: ATTEMPT }] },
  open: { type: 'Patient', attempt: ATTEMPT, isEmpty: false, next: 'v2', wait: 0, segments: [SEGMENT] },
  fill: { ...SEGMENT, more: true },
  swap: {},
}

/** A world whose rebuild the previous release has begun, with a part of the documents in its next index. */
async function begun(): Promise<RebuildWorld> {
  const world = await createRebuildWorld(1)
  await world.indices.rebuild('Patient')
  await world.state.change((state) => {
    const wanted = requestNewIndices(state, ['Patient'])
    const rebuilds = wanted.rebuilds.map((each) => ({ ...each, taken: ATTEMPT, done: 7 }))
    return { ...wanted, rebuilds, worker: { execution: 'before', at: world.now } }
  })
  return world
}

describe('An execution of the previous release', () => {
  it.each(['take', 'open', 'fill', 'swap'])(
    'ends if the deployment is before its step %s, and the rebuild begins again',
    async (action) => {
      const world = await begun()
      const actions = Object.keys(RESULTS)
      const failures: unknown[] = []
      let isDeployed = false
      const workflow = new InProcessWorkflow({
        definition: EARLIER,
        step: async (input: Parameters<ReturnType<typeof rebuildStep>>[0]) => {
          isDeployed ||= input.action === action
          // A fill of the previous release that ends its segment.
          if (!isDeployed)
            return input.action === 'fill' && actions.indexOf(action) > 2 ? { ...SEGMENT, more: false } : RESULTS[input.action]
          return rebuildStep(world.parts())(input)
        },
        writers: 2,
        report: (error) => failures.push(error),
        waits: 0,
      })
      await workflow.start('before', {})
      await workflow.idle()
      expect([isDeployed, failures, world.indices.live.name]).toEqual([true, [], 'v1'])
      expect(world.warnings).toEqual(['The rebuild of the previous release has ended. It begins again within two minutes.'])
      expect((await world.state.read()).value.worker).toBeUndefined()
      await world.run('after')
      expect(world.indices.live.name).toBe('v3')
      await world.expectWhole()
    },
  )
})
