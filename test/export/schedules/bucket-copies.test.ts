/** Copies of scheduled exports to other buckets: each file once, the manifest last, even if the process ends at any call. */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { fileKeyOf, JOB_ROWS, type Job, type JobFile } from '../../../lambdas/export/job/job.ts'
import { copyExports, folderOf } from '../../../lambdas/export/schedules/bucket-copies.ts'
import {
  ensureRun,
  findScheduleProblems,
  nextSinceOf,
  SCHEDULE_ROWS,
  type ScheduledRun,
  type StoredSchedule,
  updateRun,
} from '../../../lambdas/export/schedules/schedules.ts'
import { jobOf } from '../../fixtures/exporting.ts'
import { MemoryBlobs } from '../../fixtures/memory/blobs.ts'
import { MemoryCopier } from '../../fixtures/memory/copier.ts'
import { MemoryRows } from '../../fixtures/memory/kept-rows.ts'

const NOW = Date.UTC(2031, 0, 1, 3)
const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const EACH = 10
const NIGHTLY = { name: 'nightly', bucket: 'lake', late: 2 * DAY }
const FOLDER = 'north/nightly/20310101T030000.000Z/'

const SIZES: Readonly<Record<string, number>> = { Condition: 4, Observation: 25, Patient: EACH }
const fileOf = ([name, size]: readonly [string, number]): JobFile => ({ name, kind: 'output', type: name, count: size, size })
const textOf = (name: string, size: number): Uint8Array => new TextEncoder().encode(name.repeat(size).slice(0, size))

type Site = ReturnType<typeof site>

function site() {
  const [rows, blobs] = [new MemoryRows(), new MemoryBlobs()]
  const here = {
    ...{ rows, blobs, copier: new MemoryCopier(blobs, EACH, ['lake']), now: NOW, reported: [] as string[] },
    /** Milliseconds that each reading of the clock takes. */
    step: 0,
    parts: () => ({
      ...{ rows, copier: here.copier, budget: MINUTE, report: (error: unknown) => void here.reported.push(String(error)) },
      now: () => (here.now += here.step),
    }),
    copy: () => copyExports(here.parts(), [NIGHTLY]),
    /** Creates a complete run with its files. */
    async run(days: number, bucket: string | null = 'lake'): Promise<Job> {
      const at = NOW + days * DAY
      const { job: id } = (await ensureRun(rows, 'nightly', { at, now: at }))!
      const job: Job = { ...jobOf(1, { level: 'system' }), id, tenant: 'north', transactionTime: at, state: 'complete', ended: at }
      const files = Object.entries(SIZES).map(fileOf)
      await rows.change<Job>(JOB_ROWS, id, () => ({ ...job, files }))
      for (const { name, size } of files)
        await blobs.put(fileKeyOf(id, name), { bytes: textOf(name, size), contentType: 'application/fhir+ndjson' })
      await updateRun(rows, 'nightly', at, { of: 'all', state: 'begun', ...(bucket === null ? {} : { bucket }) })
      return job
    },
    runs: async () => (await rows.read<StoredSchedule>(SCHEDULE_ROWS, 'nightly'))!.runs,
    states: async () => (await here.runs()).map(({ state }) => state),
    last: () => nextSinceOf(rows, 'nightly', 'all'),
    watch: () => findScheduleProblems(rows, [NIGHTLY], here.now),
  }
  return here
}

let here: Site
beforeEach(() => {
  here = site()
})

const keysThere = (): readonly string[] => [...here.copier.copies.keys()]
function expectWhole(folder = FOLDER): void {
  for (const [name, size] of Object.entries(SIZES)) {
    const { bytes, contentType } = here.copier.copies.get(`lake/${folder}${name}.ndjson`)!
    expect([name, Buffer.from(bytes).equals(textOf(name, size)), contentType]).toEqual([name, true, 'application/fhir+ndjson'])
  }
  const { bytes, contentType } = here.copier.copies.get(`lake/${folder}manifest.json`)!
  const manifest = JSON.parse(new TextDecoder().decode(bytes))
  expect([contentType, manifest.output.map(({ url }: { url: string }) => url)]).toEqual([
    'application/json',
    Object.keys(SIZES).map((name) => `${folder}${name}.ndjson`),
  ])
}

describe('The files of a complete run', () => {
  it('are copied to a folder by tenant, schedule and time, with the manifest last', async () => {
    const job = await here.run(0)
    expect([folderOf(job, 'nightly'), await here.last()]).toEqual([FOLDER, undefined])
    await here.copy()
    expectWhole()
    expect(keysThere().at(-1)).toBe(`lake/${FOLDER}manifest.json`)
    expect([await here.last(), await here.states()]).toEqual([NOW, ['complete']])
  })

  it('are copied once, however often the copy runs', async () => {
    await here.run(0)
    for (let n = 0; n < 3; n++) await here.copy()
    const { read } = here.rows
    let reads = 0
    here.rows.read = ((owner: string, name: string) => {
      reads++
      return read.call(here.rows, owner, name)
    }) as typeof read
    await here.copy()
    expect(reads).toBe(1)
    // A copy in parts: one call to begin, three parts, one call to join them.
    expect(here.copier.calls).toEqual([
      'copy Condition.ndjson',
      ...Array.from({ length: 5 }, () => 'copy Observation.ndjson'),
      ...['copy Patient.ndjson', 'put manifest.json'],
    ])
  })

  it('are copied in slices, with no call twice', async () => {
    await here.run(0)
    here.step = MINUTE / 2
    for (let n = 0; n < 20; n++) {
      const before = here.copier.calls.length
      await here.copy()
      expect(here.copier.calls.length - before).toBeLessThanOrEqual(1)
    }
    expectWhole()
    expect(here.copier.calls).toHaveLength(8)
  })

  it('can be none: then only the manifest is copied', async () => {
    const { id } = await here.run(0)
    await here.rows.change<Job>(JOB_ROWS, id, (job) => ({ ...job!, files: [] }))
    await here.copy()
    expect([keysThere(), await here.states(), await here.last()]).toEqual([[`lake/${FOLDER}manifest.json`], ['complete'], NOW])
  })

  it('are copied run by run, the oldest first', async () => {
    for (const days of [0, 1]) await here.run(days)
    await here.copy()
    expect(keysThere().filter((key) => key.endsWith('Condition.ndjson'))).toEqual([
      `lake/${FOLDER}Condition.ndjson`,
      'lake/north/nightly/20310102T030000.000Z/Condition.ndjson',
    ])
    expect([await here.states(), await here.last()]).toEqual([['complete', 'complete'], NOW + DAY])
  })

  it('are not copied for a running job, without a bucket, or to another bucket', async () => {
    const { id } = await here.run(0)
    await here.rows.change<Job>(JOB_ROWS, id, (job) => ({ ...job!, state: 'in-progress' }))
    await here.run(1, null)
    await here.run(2, 'pond')
    await here.copy()
    expect([here.copier.calls, await here.states()]).toEqual([[], ['begun', 'complete', 'begun']])
  })
})

describe('A copy with a process that ends', () => {
  it('before or after any call is continued by a later one after a pause', async () => {
    for (let call = 1; call <= 8; call++)
      for (const isAfter of [false, true]) {
        here = site()
        await here.run(0)
        const { copier } = here
        let calls = 0
        const dying =
          <Args extends readonly unknown[], Result>(act: (...args: Args) => Promise<Result>) =>
          async (...args: Args): Promise<Result> => {
            if (++calls !== call || isAfter) {
              const result = await act.apply(copier, args as never)
              if (calls !== call) return result
            }
            return new Promise(() => undefined)
          }
        const dead = { copy: dying(copier.copy), put: dying(copier.put), abandon: copier.abandon }
        void copyExports({ ...here.parts(), copier: dead }, [NIGHTLY])
        for (let n = 0; n < 500; n++) await Promise.resolve()
        expect([call, calls]).toEqual([call, call])
        const before = copier.calls.length
        await here.copy()
        expect([call, copier.calls.length]).toEqual([call, before])
        here.now += 6 * MINUTE
        await here.copy()
        expectWhole()
        expect([call, await here.last()]).toEqual([call, NOW])
      }
  })
})

describe('A copy that fails', () => {
  it('is reported and retried, and keeps the files of the job and the next start', async () => {
    await here.run(0)
    here.copier.buckets.clear()
    await here.copy()
    expect(here.reported).toEqual(['Error: NoSuchBucket'])
    expect([await here.watch(), await here.last()]).toEqual([{ failed: ['nightly'], late: [] }, undefined])
    expect([...(await here.runs())].map(({ state, copy }) => [state, copy])).toEqual([['begun', { done: 0, isFailing: true }]])
    here.now += 3 * DAY
    expect((await here.watch()).late).toEqual(['nightly'])
    here.copier.buckets.add('lake')
    await here.copy()
    expectWhole()
    expect([await here.last(), (await here.watch()).failed]).toEqual([NOW, []])
    for (const name of Object.keys(SIZES)) expect(await here.blobs.get(fileKeyOf('nightly-20310101T030000Z', name))).toBeDefined()
  })

  it('does not delay other schedules', async () => {
    await here.run(0)
    await here.rows.change<StoredSchedule>(SCHEDULE_ROWS, 'weekly', () => ({ known: 0, runs: [] }))
    const { read } = here.rows
    here.rows.read = ((owner: string, name: string) =>
      name === 'weekly' ? Promise.reject(new Error('unreadable')) : read.call(here.rows, owner, name)) as typeof read
    await expect(copyExports(here.parts(), [{ name: 'weekly', bucket: 'lake' }, NIGHTLY])).rejects.toThrow('unreadable')
    expectWhole()
  })

  it('leaves no parts of a stopped job', async () => {
    const { id } = await here.run(0)
    here.step = MINUTE / 4
    await here.copy()
    expect(here.copier.uploads.size).toBe(1)
    here.step = 0
    await here.rows.change<Job>(JOB_ROWS, id, (job) => ({ ...job!, state: 'stopped' }))
    for (let n = 0; n < 2; n++) await here.copy()
    expect([here.copier.uploads.size, here.copier.calls.filter((call) => call.startsWith('abandon')).length]).toEqual([0, 1])
    expect([await here.states(), await here.last()]).toEqual([['stopped'], undefined])
    expect(keysThere().filter((key) => key.endsWith('manifest.json'))).toEqual([])
  })

  it('leaves parts alone while another process may use them', async () => {
    const { id } = await here.run(0)
    here.step = MINUTE / 4
    await here.copy()
    here.step = 0
    await here.rows.change<Job>(JOB_ROWS, id, (job) => ({ ...job!, state: 'stopped' }))
    const [{ at, copy }] = (await here.runs()) as [ScheduledRun]
    await updateRun(here.rows, 'nightly', at, { copy: { ...copy!, until: here.now + 1 } })
    await here.copy()
    expect(here.copier.uploads.size).toBe(1)
    here.now++
    await here.copy()
    expect(here.copier.uploads.size).toBe(0)
  })

  it('does not prevent the copies of other runs', async () => {
    const { id } = await here.run(0)
    here.step = MINUTE / 4
    await here.copy()
    here.step = 0
    await here.rows.change<Job>(JOB_ROWS, id, (job) => ({ ...job!, state: 'stopped' }))
    await here.run(1)
    here.copier.abandon = () => Promise.reject(new Error('AccessDenied'))
    await expect(here.copy()).rejects.toThrow('AccessDenied')
    expectWhole('north/nightly/20310102T030000.000Z/')
  })

  it('is no longer reported when another bucket is set', async () => {
    await here.run(0)
    here.copier.buckets.clear()
    await here.copy()
    expect((await findScheduleProblems(here.rows, [{ ...NIGHTLY, bucket: 'pond' }], here.now)).failed).toEqual([])
  })
})
