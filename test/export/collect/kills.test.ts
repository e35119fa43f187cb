/** Machines break at every call of an export of a Group, whether its patients' data is scanned for or looked up, while others write. */
import { describe, expect, it } from '@jest/globals'
import type { Job } from '../../../lambdas/export/job/job.ts'
import { resumeJobs } from '../../../lambdas/export/job/job-sweep.ts'
import { ExportWorld, jobOf } from '../../fixtures/exporting.ts'
import { firstSeed, timesOf } from '../../fixtures/long-runs.ts'
import { MemoryBlobs } from '../../fixtures/memory/blobs.ts'
import { neverReports } from '../../fixtures/never-reports.ts'
import { at } from '../../fixtures/versions.ts'
import { jobNow, kickOff, linesOfFiles, run } from '../exported.ts'
import { type Fault, Machine } from '../machine.ts'
import { decided, expectedOf, linesIn, RacingWorld } from '../racing.ts'

const FAULTS: readonly Fault[] = ['dies before', 'dies after', 'hangs', 'fails once', 'fails once, unheard']
const PATIENTS = 12

/** Nothing runs: whatever is not finished is begun again. */
const idle = { start: async () => {}, stop: async () => {}, isRunning: async () => false }

/** The calls of the machine that broke. */
async function tried(racing: RacingWorld, job: Job, isLookedUp: boolean, fault: Fault | undefined, call: number): Promise<number> {
  const blobs = new MemoryBlobs()
  const report = (error: unknown): void => (error instanceof Error && error.message === fault ? undefined : neverReports(error))
  const parts = { ...decided(racing.parts(PATIENTS), isLookedUp), blobs, report }
  await kickOff(parts, job)
  const broken = new Machine(fault, call, async () => {})
  const mender = new Machine(undefined, 0, async (calls) => void (calls === 30 && broken.goOn()))
  const ended = run(broken.parts(parts), job, fault?.startsWith('fails once') === true).catch(() => undefined)
  await (fault === 'hangs' ? Promise.race([broken.met, ended]) : ended)
  for (let tries = 0; (await jobNow(parts, job.id)).state === 'in-progress'; tries++) {
    expect(tries).toBeLessThan(3)
    await resumeJobs(mender.parts(parts), idle)
    await run(mender.parts(parts), await jobNow(parts, job.id)).catch(() => undefined)
  }
  broken.goOn()
  await ended
  const done = await jobNow(parts, job.id)
  expect(done.state).toBe('complete')
  expect(linesIn(await linesOfFiles(blobs, done))).toEqual(expectedOf(racing.log, job))
  expect([...blobs.uploads.values()].flatMap(({ again }) => again)).toEqual([])
  return broken.calls
}

describe.each([
  ['looked up', true],
  ['scanned for', false],
])('A Group whose data is %s', (_, isLookedUp) => {
  it.each(FAULTS)('has each line once where a machine %s', async (fault) => {
    const racing = new RacingWorld(await ExportWorld.open(), 7)
    await racing.fill(PATIENTS, 30)
    const since = at(racing.now())
    for (let i = 0; i < 15; i++) await racing.write(PATIENTS)
    const job = (n: number) =>
      jobOf(racing.now(), { id: `j${n}`, group: 'g', asked: n % 3 === 0 ? { since } : n % 3 === 1 ? { types: ['Observation'] } : {} })
    const calls = await tried(racing, job(2), isLookedUp, undefined, 0)
    const step = Math.ceil(calls / timesOf(5, 60))
    for (let call = 1 + (firstSeed() % step); call <= calls; call += step) await tried(racing, job(call + 2), isLookedUp, fault, call)
  })
})
