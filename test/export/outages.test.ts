/** Exports with long store failures or ended executions, run by the state machine with a clock that only waits advance. */
import { describe, expect, it } from '@jest/globals'
import { InProcessWorkflow } from '../../lambdas/adapters/in-process/workflow.ts'
import type { Job } from '../../lambdas/export/job/job.ts'
import { STEP_TERMINATED_REASON, UNAVAILABLE_REASON } from '../../lambdas/export/job/job-failure.ts'
import { resumeJobs, startJob } from '../../lambdas/export/job/job-sweep.ts'
import type { ExportParts, StepInput } from '../../lambdas/export/step-types.ts'
import { exportStep } from '../../lambdas/export/workflow/workflow-step.ts'
import { exportWorkflow } from '../../lambdas/export/workflow.ts'
import { runAtEnd } from '../fixtures/at-end.ts'
import { jobOf } from '../fixtures/exporting.ts'
import { MemoryBlobs } from '../fixtures/memory/blobs.ts'
import { MemoryRows } from '../fixtures/memory/kept-rows.ts'
import { instantAt } from '../fixtures/versions.ts'
import { Waits } from '../fixtures/waits.ts'
import { exportPartsOf, kickOff, readJob } from './export-run.ts'
import { watchStores } from './machine.ts'
import { expectedOf, readExported, Ward, withSmallSegments } from './ward.ts'

const MINUTE = 60_000
const WRITERS = 40

const nobody = async (): Promise<never> => {
  throw new Error('the index is not asked')
}

/** A job with a segment for nearly each version, and with references in as many ranges as permitted. */
class Trial {
  readonly blobs = new MemoryBlobs()
  readonly waits = new Waits()
  readonly ward: Ward
  readonly job: Job
  readonly parts: ExportParts

  private constructor(ward: Ward, budget: number) {
    this.ward = ward
    this.job = jobOf(ward.now, { id: 'j', level: 'patient', asked: { since: instantAt(1) } })
    const resources: ExportParts['resources'] = {
      ...withSmallSegments(ward.store),
      extent: async (request, every) => {
        const { entries, cuts } = await ward.store.extent(request, 1)
        return { entries: entries * every, cuts }
      },
    }
    const stores = { rows: new MemoryRows(), blobs: withManyMet(this.blobs), resources, index: { find: nobody, distinct: nobody } }
    let time = 0
    this.parts = exportPartsOf(stores, { budget, elapsed: () => (time += 10) })
  }

  /** `budget`: with 0, each step does the minimum of work. */
  static async open({ budget = 1_000_000 } = {}): Promise<Trial> {
    const ward = await Ward.open(1)
    runAtEnd(() => ward[Symbol.asyncDispose]())
    for (let i = 0; i < 20; i++) await ward.change()
    const trial = new Trial(ward, budget)
    await kickOff(trial.parts, trial.job)
    return trial
  }

  workflow(step: (input: StepInput) => Promise<unknown>): InProcessWorkflow {
    const { busy, pause } = this.waits
    const definition = exportWorkflow('step')
    const report = () => undefined
    return new InProcessWorkflow({ definition, writers: WRITERS, waits: 0, pause, report, step: (input) => busy(() => step(input)) })
  }

  now(): Promise<Job> {
    return readJob(this.parts, this.job.id)
  }

  /** Expects a complete export without lost or repeated resources, and no part of a file written twice. */
  async expectRight(): Promise<void> {
    const done = await this.now()
    expect(done.state).toBe('complete')
    expect(await readExported(this.blobs, done)).toEqual(await expectedOf(this.ward, this.job))
    const uploads = [...this.blobs.uploads.values()]
    expect([uploads.flatMap(({ again }) => again), uploads.filter(({ isOpen }) => isOpen)]).toEqual([[], []])
  }

  async expectNothingLeft(): Promise<void> {
    for await (const { key } of this.blobs.list('')) expect(key).toBeUndefined()
    for await (const key of this.blobs.unfinished('')) expect(key).toBeUndefined()
  }
}

/** Reports the lists of found keys a million times larger than they are. */
function withManyMet(blobs: MemoryBlobs): MemoryBlobs {
  const list: MemoryBlobs['list'] = async function* (prefix) {
    for await (const each of blobs.list(prefix)) yield prefix.endsWith('/met/') ? { ...each, size: each.size * 1_000_000 } : each
  }
  return new Proxy(blobs, {
    get: (_, name) => {
      const member = name === 'list' ? list : blobs[name as keyof MemoryBlobs]
      return typeof member === 'function' ? member.bind(blobs) : member
    },
  })
}

type Outage = {
  /** The outage begins during a step with this action, at the given call to the stores. */
  readonly action: 'write' | 'collect'
  readonly call: number
  readonly minutes: number
  readonly of: readonly ('rows' | 'blobs' | 'resources')[]
}
const EVERY = ['rows', 'blobs', 'resources'] as const

/** `writers`: number of segments or ranges with failed steps. */
async function through({ action, call: first, minutes, of }: Outage) {
  const trial = await Trial.open()
  const { parts, waits, job } = trial
  let [calls, failures, isOfAction, from] = [0, 0, false, Number.POSITIVE_INFINITY]
  const writers = new Set<string>()
  const failing = watchStores(parts, async (call) => {
    if (isOfAction && ++calls === first) from = waits.now
    if (waits.now < from || waits.now >= from + minutes * MINUTE) return call()
    failures++
    throw new Error('down')
  })
  const perform = exportStep({ ...parts, ...Object.fromEntries(of.map((name) => [name, failing[name]])) })
  const workflow = trial.workflow((input) => {
    isOfAction ||= input.action === action
    return perform(input).catch((error) => {
      writers.add('segment' in input ? input.segment : 'range' in input ? input.range : input.action)
      throw error
    })
  })
  await startJob(workflow, job)
  await waits.pass(workflow.idle())
  return { trial, workflow, failures, writers: writers.size, began: from }
}

describe('An export during a failure of its stores', () => {
  it.each(['write', 'collect'] as const)('is complete if all stores fail for half an hour while 40 writers %s', async (action) => {
    const { trial, writers, failures, began } = await through({ action, call: 250, minutes: 30, of: EVERY })
    expect(writers).toBeGreaterThanOrEqual(WRITERS)
    expect([failures > 10 * WRITERS, trial.waits.now >= began + 30 * MINUTE]).toEqual([true, true])
    expect((await trial.now()).attempt).toBe(1)
    await trial.expectRight()
  })

  it.each([
    ['write', 50],
    ['collect', 3],
  ] as const)('fails and leaves nothing if resources are unavailable for ten hours in %s', async (action, call) => {
    const { trial, began } = await through({ action, call, minutes: 600, of: ['resources'] })
    const failed = await trial.now()
    expect([failed.state, failed.reason, failed.files, failed.attempt]).toEqual(['error', UNAVAILABLE_REASON, undefined, 1])
    expect(trial.waits.now).toBeLessThan(began + 600 * MINUTE)
    await trial.expectNothingLeft()
  })

  it('is restarted and completes if all stores fail for ten hours', async () => {
    const { trial, workflow, began } = await through({ action: 'write', call: 250, minutes: 600, of: EVERY })
    const { parts, waits } = trial
    expect([(await trial.now()).state, await workflow.isRunning('j-1')]).toEqual(['in-progress', false])
    expect(waits.now).toBeLessThan(began + 600 * MINUTE)
    waits.now = began + 600 * MINUTE
    await resumeJobs(parts, workflow)
    await waits.pass(workflow.idle())
    expect((await trial.now()).attempt).toBe(2)
    await trial.expectRight()
  })
})

describe.each([
  ['needs more memory than its function has', 'Runtime.OutOfMemory'],
  ['is never answered', 'States.Timeout'],
])('An export with a step that %s', (_, name) => {
  it.each(['write', 'collect', 'gather'] as const)('in %s retries it, then fails with the reason and leaves nothing', async (action) => {
    const trial = await Trial.open()
    const perform = exportStep(trial.parts)
    let [broken, ended] = ['', 0]
    const workflow = trial.workflow(async (input) => {
      if (input.action === action) broken ||= JSON.stringify(input)
      if (JSON.stringify(input) !== broken) return perform(input)
      ended++
      throw Object.assign(new Error('RequestId: 1 Error: Runtime exited'), { name })
    })
    await startJob(workflow, trial.job)
    await trial.waits.pass(workflow.idle())
    const { state, reason } = await trial.now()
    expect([ended, state, reason]).toEqual([11, 'error', STEP_TERMINATED_REASON])
    await trial.expectNothingLeft()
  })
})

/** AWS Step Functions ends an execution after 25,000 events. https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html */
describe('An export with executions that end repeatedly while their steps continue', () => {
  it('is restarted by the sweep each time, and is complete', async () => {
    const trial = await Trial.open({ budget: 0 })
    const { parts, job } = trial
    const perform = exportStep(parts)
    let steps = 0
    const workflow = trial.workflow(async (input) => {
      if (++steps % 60 === 0) {
        await workflow.stop(`j-${input.attempt}`)
        await resumeJobs(parts, workflow)
      }
      return perform(input)
    })
    await startJob(workflow, job)
    await trial.waits.pass(workflow.idle())
    expect((await trial.now()).attempt).toBeGreaterThan(3)
    await trial.expectRight()
  })
})
