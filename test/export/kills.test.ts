/** Machines fail at every call of an export while other writers continue. The files contain the versions at the transaction time. */
import { describe, expect, it } from '@jest/globals'
import { SqliteSearchIndex } from '../../lambdas/adapters/sqlite-index/search-index.ts'
import { resumeJobs } from '../../lambdas/export/job/job-sweep.ts'
import { MAX_FILE_BYTES, MIN_PART_BYTES } from '../../lambdas/export/write/multipart-uploads.ts'
import type { Workflow } from '../../lambdas/ports/execution/workflow.ts'
import { runAtEnd } from '../fixtures/at-end.ts'
import { jobOf } from '../fixtures/exporting.ts'
import { caseCountOf, firstSeed } from '../fixtures/long-runs.ts'
import { MemoryBlobs } from '../fixtures/memory/blobs.ts'
import { MemoryRows } from '../fixtures/memory/kept-rows.ts'
import { instantAt } from '../fixtures/versions.ts'
import { exportPartsOf, kickOff, readJob, runExportJob } from './export-run.ts'
import { Machine, type StepFault } from './machine.ts'
import { expectedOf, randomOf, readExported, WARD_TYPES, Ward, withSmallSegments } from './ward.ts'

const index = new SqliteSearchIndex(':memory:')
runAtEnd(() => index.close())

/** A workflow in which nothing runs, so that the sweep restarts each unfinished job. */
const idle = { start: async () => {}, stop: async () => {}, isRunning: async () => false } satisfies Workflow

const FAULTS: readonly StepFault[] = ['dies before', 'dies after', 'hangs', 'fails once', 'fails once, unheard']

type Trial = {
  readonly level: keyof typeof WARD_TYPES
  readonly hasSince?: boolean
  readonly fault: StepFault | undefined
  readonly at: number
  readonly seed: number
}

/** Number of changes before the export. */
const CHANGES = 10

/** Returns the number of calls that the failing machine made. */
async function tried({ level, hasSince = false, fault, at: call, seed }: Trial): Promise<number> {
  const random = randomOf(seed)
  await using ward = await Ward.open(seed)
  for (let i = 0; i < CHANGES; i++) await ward.change()
  const since = hasSince ? instantAt(Math.floor(ward.now / 2)) : undefined
  const blobs = new MemoryBlobs()
  const stores = { rows: new MemoryRows(), blobs, index, resources: withSmallSegments(ward.store) }
  let time = 0
  const budget = [0, 2_000, 100_000][seed % 3]!
  const maxFileBytes = seed % 2 === 0 ? MIN_PART_BYTES : MAX_FILE_BYTES
  const whole = exportPartsOf(stores, { budget, elapsed: () => (time += 300), maxFileBytes })
  const between = async (calls: number) => void (calls % 5 === 0 && random(2) === 0 && (await ward.change()))
  const job = jobOf(ward.now, { id: `j${seed}`, level, asked: { types: WARD_TYPES[level], ...(since === undefined ? {} : { since }) } })
  await kickOff(whole, job)
  const broken = new Machine(fault, call, between)
  const mender = new Machine(undefined, 0, async (calls) => {
    if (calls === 3 + random(20)) broken.goOn()
    await between(calls)
  })
  const ended = runExportJob(broken.parts(whole), job, fault?.startsWith('fails once') === true).catch(() => undefined)
  await (fault === 'hangs' ? Promise.race([broken.reached, ended]) : ended)
  for (let tries = 0; (await readJob(whole, job.id)).state === 'in-progress'; tries++) {
    expect(tries).toBeLessThan(3)
    await resumeJobs(mender.parts(whole), idle)
    await runExportJob(mender.parts(whole), await readJob(whole, job.id)).catch(() => undefined)
  }
  broken.goOn()
  await ended
  const done = await readJob(whole, job.id)
  expect(done.state).toBe('complete')
  expect(await readExported(blobs, done)).toEqual(await expectedOf(ward, job))
  const uploads = [...blobs.uploads.values()]
  expect(uploads.flatMap(({ again }) => again)).toEqual([])
  if (fault === undefined) expect(uploads.filter(({ isOpen }) => isOpen)).toEqual([])
  return broken.calls
}

describe.each(['system', 'patient'] as const)('An export at the level %s', (level) => {
  it('holds each resource once, as of its time, while others write', async () => {
    for (let i = 0; i < caseCountOf(2, 50); i++) await tried({ level, fault: undefined, at: 0, seed: firstSeed() + i })
  })

  it.each(FAULTS)('is just as complete if a machine %s', async (fault) => {
    const calls = await tried({ level, fault: undefined, at: 0, seed: 0 })
    const step = Math.ceil(calls / caseCountOf(3, 50))
    for (let call = 1 + ((firstSeed() + (level === 'system' ? 0 : 2)) % step); call <= calls; call += step)
      await tried({ level, fault, at: call, seed: call, hasSince: call % 2 === 0 })
  })
})
