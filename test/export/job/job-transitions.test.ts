/** The life of a job: states, plan, manifest and retention, and the sweep that restarts and removes jobs. */
import { describe, expect, it } from '@jest/globals'
import { flattenErrors } from '../../../lambdas/export/job/error-aggregation.ts'
import { clearOtherAttemptStarts } from '../../../lambdas/export/job/failed-attempts.ts'
import type { Job } from '../../../lambdas/export/job/job.ts'
import { failJob } from '../../../lambdas/export/job/job-failure.ts'
import { continueRemoval, removeExpiredJobs, removeStoppedJobs, resumeJobs } from '../../../lambdas/export/job/job-sweep.ts'
import {
  changeJob,
  countFailedAttempt,
  incrementAttempt,
  readJob,
  setAttemptStart,
  setComplete,
  setError,
  setPlan,
  setRetrievalTime,
  setStopped,
} from '../../../lambdas/export/job/job-transitions.ts'
import { fileExpiryOf, manifestExpiryOf } from '../../../lambdas/export/job/lifetimes.ts'
import { manifestOf } from '../../../lambdas/export/job/manifest.ts'
import { packSegments } from '../../../lambdas/export/plan/segment-packing.ts'
import type { Workflow } from '../../../lambdas/ports/execution/workflow.ts'
import { jobOf } from '../../fixtures/exporting.ts'
import { MemoryBlobs } from '../../fixtures/memory/blobs.ts'
import { MemoryRows } from '../../fixtures/memory/kept-rows.ts'
import { instantAt } from '../../fixtures/versions.ts'
import { kickOff } from '../export-run.ts'

const HOUR = 60 * 60 * 1000
const DAY = 24 * HOUR
const job = jobOf(1, { level: 'system' })
const complete = setComplete(1, [], instantAt(2))(job)

class Executions implements Workflow {
  readonly running = new Set<string>()
  readonly told: string[] = []

  async start(name: string, input: Readonly<Record<string, unknown>>): Promise<void> {
    this.running.add(name)
    this.told.push(`start ${name} ${JSON.stringify(input)}`)
  }
  async stop(name: string): Promise<void> {
    this.running.delete(name)
    this.told.push(`stop ${name}`)
  }
  async isRunning(name: string): Promise<boolean> {
    return this.running.has(name)
  }
}

const storesAt = (now: number) => ({ rows: new MemoryRows(), blobs: new MemoryBlobs(), now: () => now })
const put = (blobs: MemoryBlobs, key: string) => blobs.put(key, { bytes: new Uint8Array(1), contentType: 'text/plain' })

async function keysOf(blobs: MemoryBlobs): Promise<readonly string[]> {
  const keys: string[] = []
  for await (const { key } of blobs.list('')) keys.push(key)
  return keys
}

describe('A job', () => {
  it('ends only once, and only by its current attempt', () => {
    expect(complete).toMatchObject({ state: 'complete', files: [], ended: instantAt(2) })
    const broken = setError(1, 'why', instantAt(2))(job)
    expect(broken).toMatchObject({ state: 'error', reason: 'why', ended: instantAt(2) })
    for (const ended of [complete, broken, setStopped(instantAt(2))(job)])
      for (const change of [setComplete(1, [], instantAt(3)), setError(1, 'x', instantAt(3)), incrementAttempt(1), setPlan(1, 'p', 1)])
        expect(change(ended)).toBe(ended)
    for (const change of [setComplete(2, [], instantAt(3)), setError(2, 'x', instantAt(3)), incrementAttempt(2), setPlan(2, 'p', 1)])
      expect(change(job)).toBe(job)
  })

  it('is planned once, and restarted under the next attempt', () => {
    const first = setPlan(1, 'first', 10)(job)
    expect(first).toMatchObject({ plan: 'first', total: 10 })
    expect(setPlan(1, 'second', 20)(first)).toBe(first)
    expect(incrementAttempt(1)(first)).toEqual({ ...first, attempt: 2 })
  })

  it('can be stopped in any state, and retrieved only when complete', () => {
    expect(setStopped(instantAt(3))(complete)).toMatchObject({ state: 'stopped', ended: instantAt(3) })
    expect(setRetrievalTime(instantAt(4))(complete)).toMatchObject({ retrieved: instantAt(4) })
    expect(setRetrievalTime(instantAt(4))(job)).toBe(job)
    expect(setRetrievalTime(instantAt(3))(setRetrievalTime(instantAt(4))(complete))).toMatchObject({ retrieved: instantAt(4) })
  })

  it('has a manifest that names its files', () => {
    const files = [
      { name: 'Patient', kind: 'output', type: 'Patient', count: 2, size: 20 },
      { name: 'deleted', kind: 'deleted', type: 'Bundle', count: 1, size: 10 },
      { name: 'error', kind: 'error', type: 'OperationOutcome', count: 1, size: 10 },
    ] as const
    const urls = new Map(files.map(({ name }) => [name, `http://files/${name}`]))
    const whole: Job = { ...complete, files }
    expect(manifestOf({ ...whole, asked: { ...whole.asked, since: instantAt(0) } }, urls)).toEqual({
      transactionTime: '2024-02-29T12:00:01.000Z',
      request: job.request,
      requiresAccessToken: false,
      output: [{ type: 'Patient', url: 'http://files/Patient', count: 2 }],
      deleted: [{ type: 'Bundle', url: 'http://files/deleted', count: 1 }],
      error: [{ type: 'OperationOutcome', url: 'http://files/error', count: 1 }],
    })
    expect(manifestOf(complete, urls)).toEqual({
      ...{ transactionTime: '2024-02-29T12:00:01.000Z', request: job.request, requiresAccessToken: false, output: [], error: [] },
    })
  })

  it.each([
    ['never', undefined, 10],
    ['at once', 0, 10],
    ['after five days', 5, 12],
    ['after ten days', 10, 17],
    ['after twelve days', 12, 17],
  ])('retains its files longer if its manifest is retrieved late: %s (day %s)', (_, after, days) => {
    const ended = instantAt(2)
    const of = { ended, ...(after === undefined ? {} : { retrieved: ended + after * DAY }) }
    expect(manifestExpiryOf(of, 10)).toBe(ended + 10 * DAY)
    expect(fileExpiryOf(of, 10)).toBe(ended + days * DAY)
  })

  it('has no expiry while it runs', () => expect([manifestExpiryOf(job, 10), fileExpiryOf(job, 10)]).toEqual([undefined, undefined]))
})

describe('The sweep', () => {
  it('restarts jobs without a running execution, and no others', async () => {
    const [stores, workflow] = [storesAt(instantAt(5)), new Executions()]
    await kickOff(stores, { ...job, id: 'died', attempt: 3 })
    await kickOff(stores, { ...job, id: 'lives' })
    await kickOff(stores, { ...complete, id: 'done' })
    workflow.running.add('lives-1')
    await resumeJobs(stores, workflow)
    await resumeJobs(stores, workflow)
    expect(workflow.told).toEqual(['start died-4 {"job":"died","attempt":4}'])
    expect(await readJob(stores.rows, 'died')).toMatchObject({ attempt: 4, state: 'in-progress' })
  })

  it('handles all jobs even if some fail, and reports the failures afterwards', async () => {
    const [stores, workflow] = [storesAt(instantAt(5) + 40 * DAY), new Executions()]
    for (const id of ['a', 'broken', 'c', 'worse']) await kickOff(stores, { ...job, id })
    workflow.isRunning = async (name) => {
      if (name.startsWith('broken') || name.startsWith('worse')) throw new RangeError(name)
      return false
    }
    const thrown = await resumeJobs(stores, workflow).catch((error: unknown) => error)
    expect(workflow.told.map((text) => text.split(' ')[1])).toEqual(['a-2', 'c-2'])
    expect([(thrown as Error).message, flattenErrors(thrown).map(String)]).toEqual([
      '2 of these failed: RangeError, RangeError',
      ['RangeError: broken-1', 'RangeError: worse-1'],
    ])
    for (const id of ['a', 'broken', 'c', 'worse']) {
      await changeJob(stores.rows, id, setComplete(id === 'a' || id === 'c' ? 2 : 1, [], instantAt(5)))
      await put(stores.blobs, `exports/${id}/files/Patient.ndjson`)
    }
    await put(stores.blobs, 'exports/nobodys/files/Patient.ndjson')
    const { abortParts } = stores.blobs
    stores.blobs.abortParts = (prefix) =>
      prefix === 'exports/broken/' ? Promise.reject(new Error('no')) : abortParts.call(stores.blobs, prefix)
    await expect(removeExpiredJobs(stores, 10)).rejects.toThrow('no')
    expect(await keysOf(stores.blobs)).toEqual(['exports/broken/files/Patient.ndjson'])
    expect(await readJob(stores.rows, 'broken')).toBeDefined()
    await changeJob(stores.rows, 'broken', setStopped(instantAt(5)))
    await kickOff(stores, { ...setStopped(instantAt(5))(job), id: 'stopped' })
    await expect(removeStoppedJobs(stores)).rejects.toThrow('no')
    expect(await readJob(stores.rows, 'stopped')).toBeUndefined()
  })

  it('gives up a job after too many attempts, unless it has ended meanwhile', async () => {
    const [stores, workflow] = [storesAt(instantAt(5)), new Executions()]
    for (const id of ['broken', 'done']) {
      await kickOff(stores, { ...job, id, attempt: 1_000 })
      await put(stores.blobs, `exports/${id}/files/Patient.ndjson`)
    }
    workflow.isRunning = async (name) => {
      if (name === 'done-1000') await changeJob(stores.rows, 'done', setComplete(1_000, [], instantAt(4)))
      return false
    }
    await resumeJobs(stores, workflow)
    expect(workflow.told).toEqual([])
    expect((await readJob(stores.rows, 'broken'))?.reason).toContain('begun too often')
    expect(await readJob(stores.rows, 'done')).toMatchObject({ state: 'complete' })
    expect(await keysOf(stores.blobs)).toEqual(['exports/done/files/Patient.ndjson'])
  })

  it('gives up a job after ten crashes without progress, with advice as the reason', async () => {
    const [stores, workflow] = [storesAt(instantAt(5)), new Executions()]
    await kickOff(stores, job)
    await put(stores.blobs, 'exports/j/files/Patient.ndjson')
    const die = async (): Promise<Job> => {
      const { attempt } = (await readJob(stores.rows, 'j'))!
      await changeJob(stores.rows, 'j', setAttemptStart(attempt))
      workflow.running.clear()
      await resumeJobs(stores, workflow)
      return (await readJob(stores.rows, 'j'))!
    }
    for (let times = 0; times < 9; times++) expect(await die()).toMatchObject({ state: 'in-progress' })
    await stores.rows.change('exports/j/segments', 'p-0', () => ({ revision: 0 }))
    for (let times = 0; times < 9; times++) expect(await die()).toMatchObject({ state: 'in-progress' })
    await stores.rows.change('exports/j/segments', 'p-0', () => ({ revision: 1 }))
    for (let times = 0; times < 9; times++) expect(await die()).toMatchObject({ state: 'in-progress', attempt: 20 + times })
    expect(await die()).toMatchObject({ state: 'error', reason: expect.stringContaining('Ask for less at once') })
    expect([workflow.running.size, await keysOf(stores.blobs)]).toEqual([0, []])
  })

  it('counts the crash of an attempt only once', async () => {
    const once = countFailedAttempt(1, 0)(setAttemptStart(1)(job))
    expect([once.deaths, countFailedAttempt(1, 0)(once)]).toEqual([{ count: 1, came: 0 }, once])
  })

  it('counts no crash for jobs that did not start or did not cause it', async () => {
    const [stores, workflow] = [storesAt(instantAt(5)), new Executions()]
    for (const id of ['waiting', 'beside']) await kickOff(stores, { ...job, id })
    for (let times = 1; times <= 20; times++) {
      workflow.running.clear()
      await changeJob(stores.rows, 'beside', setAttemptStart(times))
      await clearOtherAttemptStarts(stores.rows, new Set(['waiting']))
      await resumeJobs(stores, workflow)
    }
    for (const id of ['waiting', 'beside']) expect(await readJob(stores.rows, id)).toMatchObject({ state: 'in-progress', attempt: 21 })
  })

  it('leaves the files to the next attempt if an outdated attempt fails', async () => {
    const stores = storesAt(instantAt(5))
    await kickOff(stores, { ...job, attempt: 2 })
    await put(stores.blobs, 'exports/j/tails/1')
    await failJob(stores, job, 'why')
    expect([await readJob(stores.rows, 'j'), await keysOf(stores.blobs)]).toMatchObject([{ state: 'in-progress' }, ['exports/j/tails/1']])
  })

  it('removes expired jobs, and retains others', async () => {
    const stores = storesAt(instantAt(2) + 10 * DAY)
    await kickOff(stores, { ...complete, id: 'over' })
    await kickOff(stores, { ...complete, id: 'linked', retrieved: instantAt(2) + 5 * DAY })
    await kickOff(stores, { ...job, id: 'going' })
    for (const id of ['over', 'linked', 'going', 'unknown'])
      for (const name of ['files/Patient.ndjson', 'tails/1']) await put(stores.blobs, `exports/${id}/${name}`)
    await removeExpiredJobs(stores, 10)
    expect(await keysOf(stores.blobs)).toEqual([
      ...['exports/going/files/Patient.ndjson', 'exports/going/tails/1', 'exports/linked/files/Patient.ndjson'],
    ])
    expect(await readJob(stores.rows, 'over')).toBeUndefined()
  })

  it('removes expired jobs in several calls, each from where the last one stopped', async () => {
    let at = instantAt(2) + 20 * DAY
    const stores = { ...storesAt(0), now: () => at }
    const ids = ['a', 'b', 'c', 'd', 'e']
    for (const id of ids) {
      if (id !== 'c') await kickOff(stores, { ...complete, id })
      for (let n = 0; n < 40; n++) await put(stores.blobs, `exports/${id}/tails/${n}`)
    }
    // Every job takes a minute.
    const { abortParts } = stores.blobs
    const swept: string[] = []
    stores.blobs.abortParts = async (prefix) => {
      at += 60_000
      swept.push(prefix.split('/')[1]!)
      await abortParts.call(stores.blobs, prefix)
    }
    const call = async () => {
      swept.splice(0)
      await continueRemoval(stores, 10, 110_000)
      return swept.join('')
    }
    expect([await call(), await call()]).toEqual(['ab', 'cd'])
    expect([await call(), await keysOf(stores.blobs)]).toEqual(['e', []])
    for (const id of ids) expect(await readJob(stores.rows, id)).toBeUndefined()
    await kickOff(stores, { ...complete, id: 'a' })
    expect(await call()).toBe('a')
  })

  it('continues with the other jobs in the next call if one cannot be removed', async () => {
    const stores = storesAt(instantAt(2) + 20 * DAY)
    for (const id of ['a', 'b', 'c']) await kickOff(stores, { ...complete, id })
    const { abortParts } = stores.blobs
    stores.blobs.abortParts = (prefix) =>
      prefix === 'exports/b/' ? Promise.reject(new Error('no')) : abortParts.call(stores.blobs, prefix)
    const left = async () => (await Promise.all(['a', 'b', 'c'].map((id) => readJob(stores.rows, id)))).map((each) => each?.id)
    const failed = await continueRemoval(stores, 10, 60_000).catch((error: unknown) => error)
    expect([flattenErrors(failed).map(String), await left()]).toEqual([['Error: no'], [undefined, 'b', 'c']])
    await continueRemoval(stores, 10, 60_000)
    expect(await left()).toEqual([undefined, 'b', undefined])
  })

  it('removes a stopped job at once, and leftovers of late steps after an hour', async () => {
    const stores = storesAt(instantAt(5))
    await kickOff(stores, job)
    await put(stores.blobs, 'exports/j/tails/1')
    const upload = await stores.blobs.openParts('exports/j/files/Patient.ndjson', 'text/plain')
    const leaveRow = () => stores.rows.change('exports/j/files', 'Patient', () => ({ id: upload.id, next: 1 }))
    await leaveRow()
    await changeJob(stores.rows, 'j', setStopped(instantAt(5)))
    await kickOff(stores, { ...job, id: 'going' })
    await put(stores.blobs, 'exports/going/tails/1')
    await removeStoppedJobs(stores)
    expect([await keysOf(stores.blobs), await stores.rows.read('exports/j/files', 'Patient')]).toEqual([
      ['exports/going/tails/1'],
      undefined,
    ])
    expect(stores.blobs.uploads.get(upload.id)?.isOpen).toBe(false)
    await leaveRow()
    await removeStoppedJobs({ ...stores, now: () => instantAt(5) + HOUR - 1 })
    expect(await readJob(stores.rows, 'j')).toMatchObject({ state: 'stopped' })
    await leaveRow()
    await removeStoppedJobs({ ...stores, now: () => instantAt(5) + HOUR })
    expect([await readJob(stores.rows, 'j'), await stores.rows.read('exports/j/files', 'Patient')]).toEqual([undefined, undefined])
  })

  it('removes leftovers and uploads of deleted jobs, but not of a starting job', async () => {
    const stores = storesAt(instantAt(5))
    const upload = await stores.blobs.openParts('exports/gone/files/Patient.ndjson', 'text/plain')
    await put(stores.blobs, 'exports/new/tails/1')
    const list = stores.blobs.list.bind(stores.blobs)
    stores.blobs.list = async function* (prefix) {
      if (prefix === 'exports/') await kickOff(stores, { ...job, id: 'new' })
      yield* list(prefix)
    }
    await removeExpiredJobs(stores, 10)
    expect(stores.blobs.uploads.get(upload.id)?.isOpen).toBe(false)
    expect(await keysOf(stores.blobs)).toEqual(['exports/new/tails/1'])
  })

  it('removes leftovers of a failed job', async () => {
    const stores = storesAt(instantAt(5))
    await kickOff(stores, setError(1, 'why', instantAt(4))(job))
    await put(stores.blobs, 'exports/j/tails/1')
    await removeExpiredJobs(stores, 10)
    expect([await keysOf(stores.blobs), await readJob(stores.rows, 'j')]).toMatchObject([[], { state: 'error' }])
  })

  it('does not start a job that is cancelled meanwhile', async () => {
    const [stores, workflow] = [storesAt(instantAt(5)), new Executions()]
    await kickOff(stores, job)
    workflow.isRunning = async () => {
      await changeJob(stores.rows, 'j', setStopped(instantAt(5)))
      return false
    }
    await resumeJobs(stores, workflow)
    expect(workflow.told).toEqual([])
  })
})

describe('A plan', () => {
  const cut = (type: string, entries: number, ...ends: readonly number[]) => ({ type, entries, ends: [...ends, 1_000] })

  it('groups small types, and splits large ones', () => {
    const segments = packSegments([cut('A', 1), cut('B', 2), cut('C', 30, 100, 200), cut('D', 0)], 10, 100)
    expect(segments.map((pieces) => pieces.map(({ type, since, until }) => [type, since, until]))).toEqual([
      ...[
        [
          ['A', undefined, 1_000],
          ['B', undefined, 1_000],
        ],
        [['C', undefined, 100]],
        [['C', 100, 200]],
        [
          ['C', 200, 1_000],
          ['D', undefined, 1_000],
        ],
      ],
    ])
  })

  it('covers each type once, within the limit of segments', () => {
    const ends = Array.from({ length: 5_000 }, (_, i) => i + 1)
    const segments = packSegments(
      [
        { type: 'A', since: 0, entries: 5_000_000, ends },
        { type: 'B', entries: 7, ends: [9] },
      ],
      1_000,
      1_000,
    )
    expect(segments.length).toBeLessThanOrEqual(1_000)
    const pieces = segments.flat().filter(({ type }) => type === 'A')
    expect(pieces[0]!.since).toBe(0)
    expect(pieces.at(-1)!.until).toBe(5_000)
    for (const [i, { since }] of pieces.slice(1).entries()) expect(since).toBe(pieces[i]!.until)
  })
})
