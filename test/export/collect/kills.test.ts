/** Machines fail at every call of a Group export, with the patients' data scanned or looked up, while other writers continue. */
import { describe, expect, it } from '@jest/globals'
import type { Job } from '../../../lambdas/export/job/job.ts'
import { resumeJobs } from '../../../lambdas/export/job/job-sweep.ts'
import { ExportWorld, jobOf } from '../../fixtures/exporting.ts'
import { caseCountOf, firstSeed } from '../../fixtures/long-runs.ts'
import { MemoryBlobs } from '../../fixtures/memory/blobs.ts'
import { failOnReport } from '../../fixtures/never-reports.ts'
import { instantAt } from '../../fixtures/versions.ts'
import { kickOff, readFileLines, readJob, runExportJob } from '../export-run.ts'
import { Machine, type StepFault } from '../machine.ts'
import { expectedOf, RacingWorld, readAllLines, withLookupChoice } from '../racing-world.ts'

const FAULTS: readonly StepFault[] = ['dies before', 'dies after', 'hangs', 'fails once', 'fails once, unheard']
const PATIENTS = 12

/** A workflow in which nothing runs, so that the sweep restarts each unfinished job. */
const idle = { start: async () => {}, stop: async () => {}, isRunning: async () => false }

/** Returns the number of calls of the machine that failed. */
async function tried(racing: RacingWorld, job: Job, isLookedUp: boolean, fault: StepFault | undefined, call: number): Promise<number> {
  const blobs = new MemoryBlobs()
  const report = (error: unknown): void => (error instanceof Error && error.message === fault ? undefined : failOnReport(error))
  const parts = { ...withLookupChoice(racing.parts(PATIENTS), isLookedUp), blobs, report }
  await kickOff(parts, job)
  const broken = new Machine(fault, call, async () => {})
  const mender = new Machine(undefined, 0, async (calls) => void (calls === 30 && broken.goOn()))
  const ended = runExportJob(broken.parts(parts), job, fault?.startsWith('fails once') === true).catch(() => undefined)
  await (fault === 'hangs' ? Promise.race([broken.reached, ended]) : ended)
  for (let tries = 0; (await readJob(parts, job.id)).state === 'in-progress'; tries++) {
    expect(tries).toBeLessThan(3)
    await resumeJobs(mender.parts(parts), idle)
    await runExportJob(mender.parts(parts), await readJob(parts, job.id)).catch(() => undefined)
  }
  broken.goOn()
  await ended
  const done = await readJob(parts, job.id)
  expect(done.state).toBe('complete')
  expect(readAllLines(await readFileLines(blobs, done))).toEqual(expectedOf(racing.log, job))
  expect([...blobs.uploads.values()].flatMap(({ again }) => again)).toEqual([])
  return broken.calls
}

describe.each([
  ['looked up', true],
  ['scanned for', false],
])('A Group with data that is %s', (_, isLookedUp) => {
  it.each(FAULTS)('is exported with each line once if a machine %s', async (fault) => {
    const racing = new RacingWorld(await ExportWorld.open(), 7)
    await racing.fill(PATIENTS, 30)
    const since = instantAt(racing.now())
    for (let i = 0; i < 15; i++) await racing.write(PATIENTS)
    const job = (n: number) =>
      jobOf(racing.now(), { id: `j${n}`, group: 'g', asked: n % 3 === 0 ? { since } : n % 3 === 1 ? { types: ['Observation'] } : {} })
    const calls = await tried(racing, job(2), isLookedUp, undefined, 0)
    const step = Math.ceil(calls / caseCountOf(5, 60))
    for (let call = 1 + (firstSeed() % step); call <= calls; call += step) await tried(racing, job(call + 2), isLookedUp, fault, call)
  })
})
