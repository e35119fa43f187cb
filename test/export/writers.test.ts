/** Steps of an export that wait, are cancelled or run twice, or reach the limits of a file. */
import { describe, expect, it } from '@jest/globals'
import { newRange, type Range, ROUNDS } from '../../lambdas/export/collect/range.ts'
import { rangeSliceOf } from '../../lambdas/export/collect/range-slice.ts'
import { fileRowsOf, type Job, patientRowsOf, rangeRowsOf, segmentRowsOf } from '../../lambdas/export/job/job.ts'
import { changeJob, incrementAttempt, setComplete, setError, setStopped } from '../../lambdas/export/job/job-transitions.ts'
import { readJobScope } from '../../lambdas/export/plan/job-scope.ts'
import { storeNamedPatients } from '../../lambdas/export/plan/named-patients.ts'
import type { Segment } from '../../lambdas/export/plan/segment.ts'
import type { ExportParts, PlanOutput, StepInput } from '../../lambdas/export/step-types.ts'
import { exportStep } from '../../lambdas/export/workflow/workflow-step.ts'
import { type FileRow, FileUpload } from '../../lambdas/export/write/multipart-uploads.ts'
import { ExportWorld, jobOf } from '../fixtures/exporting.ts'
import { MemoryRows } from '../fixtures/memory/kept-rows.ts'
import { patient } from '../fixtures/resources.ts'
import { instantAt } from '../fixtures/versions.ts'
import { exportPartsOf, kickOff, readJob } from './export-run.ts'

const world = await ExportWorld.open()
await world.save(1, patient('a'))
const parts = exportPartsOf({ rows: new MemoryRows(), blobs: world.blobs, resources: world.store, index: world.index })
const changed = (resources: Partial<ExportParts['resources']>, more: Partial<ExportParts> = {}): ExportParts => ({
  ...parts,
  ...more,
  resources: { ...world.counted(() => {}), ...resources },
})

/** Creates and plans a job of Patients. */
async function planned(id: string): Promise<{ readonly job: Job; readonly segment: string }> {
  await kickOff(parts, jobOf(5, { id, level: 'system', asked: { types: ['Patient'] } }))
  const { segments } = (await exportStep(parts)({ action: 'plan', job: id, attempt: 1 })) as PlanOutput
  return { job: await readJob(parts, id), segment: segments[0]! }
}

describe('A plan', () => {
  it('waits until no earlier write can still arrive', async () => {
    await kickOff(parts, jobOf(5, { id: 'early', level: 'system', asked: { types: ['Patient'] } }))
    const asked: unknown[] = []
    const settled = async (...of: unknown[]) => asked.push(of) > 1
    const plan = () => exportStep(changed({ settled }, { now: () => instantAt(6) }))({ action: 'plan', job: 'early', attempt: 1 })
    expect(await plan()).toEqual({ job: 'early', attempt: 1, wait: 1, segments: [] })
    expect(await readJob(parts, 'early')).not.toHaveProperty('plan')
    expect(await readJob(parts, 'early')).toMatchObject({ began: 1 })
    expect(await plan()).toMatchObject({ wait: 0, segments: [expect.any(String)] })
    expect(asked).toEqual([
      ['t', instantAt(5)],
      ['t', instantAt(5)],
    ])
  })

  it('waits longer over time, since an execution has a limited number of events', async () => {
    await kickOff(parts, jobOf(5, { id: 'late', level: 'system', asked: { types: ['Patient'] } }))
    const settled = async () => false
    const waits: number[] = []
    for (const after of [0, 15, 150, 86_400]) {
      const plan = exportStep(changed({ settled }, { now: () => instantAt(5 + after), longestWait: 120 }))
      waits.push(((await plan({ action: 'plan', job: 'late', attempt: 1 })) as PlanOutput).wait)
    }
    expect(waits).toEqual([1, 1, 10, 120])
  })

  it('names only unwritten segments of the current plan when repeated', async () => {
    const { job, segment } = await planned('again')
    const plan = () => exportStep(parts)({ action: 'plan', job: job.id, attempt: 1 })
    await parts.rows.change<Segment>(segmentRowsOf('again'), 'other-0', () => ({ isDone: false }) as Segment)
    expect(await plan()).toMatchObject({ segments: [segment] })
    await exportStep(parts)({ action: 'write', job: 'again', attempt: 1, segment })
    expect(await plan()).toMatchObject({ segments: [] })
  })

  it('waits while its kick-off stores patient ids, until the kick-off must have died', async () => {
    const [old, young] = ['dying', 'naming'].map((id, i) => ({
      ...jobOf(5, { id, level: 'patient', patients: 2, asked: { types: ['Patient'] } }),
      transactionTime: Date.now() - (i === 0 ? 120_001 : 1_000),
    }))
    for (const job of [old!, young!]) await kickOff(parts, job)
    const plan = (job: string) => exportStep(parts)({ action: 'plan', job, attempt: 1 })
    await plan('dying')
    expect(await readJob(parts, 'dying')).toMatchObject({ state: 'error', reason: expect.stringContaining('kick-off') })
    await parts.rows.change(patientRowsOf('naming'), '0', () => ['Patient/a'])
    expect(await plan('naming')).toMatchObject({ wait: 1 })
    await storeNamedPatients(parts.rows, 'naming', ['Patient/a', 'Patient/z'])
    expect(await plan('naming')).toMatchObject({ wait: 0 })
    const { patients, told } = await readJobScope(parts, await readJob(parts, 'naming'))
    expect([patients, told]).toEqual([new Set(['Patient/a']), ['Patient/z is not known']])
  })

  it('fails once if its scope takes too long to resolve, and advises a narrower request', async () => {
    const patients = Array.from({ length: 400 }, (_, i) => `Patient/${i}`)
    await kickOff(parts, jobOf(5, { id: 'long', level: 'patient', asked: { patients } }))
    let [elapsed, readings] = [0, 0]
    const { heads } = changed({}).resources
    const counted: typeof heads = (...asked) => {
      readings++
      return heads(...asked)
    }
    const plan = exportStep(changed({ heads: counted }, { elapsed: () => (elapsed += 10_000), longestPlan: 120_000 }))
    expect(await plan({ action: 'plan', job: 'long', attempt: 1 })).toMatchObject({ wait: 0, segments: [] })
    expect(await readJob(parts, 'long')).toMatchObject({
      state: 'error',
      reason: expect.stringContaining('more than 2 minutes to look up'),
    })
    expect(readings).toBeLessThan(12)
  })

  it.each([
    ['names', { level: 'patient', asked: { patients: Array.from({ length: 40 }, (_, i) => `Patient/${i}`) } }, 'heads'],
    ['types', { level: 'system' }, 'extent'],
  ] as const)('ends after the current read when its job is cancelled, for any number of %s', async (id, fields, name) => {
    await kickOff(parts, jobOf(5, { id, ...fields }))
    let [elapsed, readings] = [0, 0]
    const resources = changed({}).resources
    const read = async (...asked: never[]): Promise<never> => {
      if (++readings === 2) await changeJob(parts.rows, id, setStopped(instantAt(6)))
      return (resources[name] as (...asked: never[]) => Promise<never>)(...asked)
    }
    const plan = exportStep(changed({ [name]: read }, { elapsed: () => (elapsed += 1_000) }))
    expect(await plan({ action: 'plan', job: id, attempt: 1 })).toEqual({ job: id, attempt: 1, wait: 0, segments: [] })
    expect(readings).toBe(2)
  })
})

describe('A writer', () => {
  it('ends within a page when its job ends, and leaves no checkpoint', async () => {
    const { segment } = await planned('ended')
    let [elapsed, pages] = [0, 0]
    const resources: Partial<ExportParts['resources']> = {
      async *scan() {
        for (;;) {
          if (++pages === 3) await changeJob(parts.rows, 'ended', setStopped(instantAt(6)))
          yield { versions: [], cursor: String(pages), tombstones: [] } as never
          if (pages > 10) throw new Error('it goes on')
        }
      },
    }
    const write = exportStep(changed(resources, { elapsed: () => (elapsed += 1_000) }))
    expect(await write({ action: 'write', job: 'ended', attempt: 1, segment })).toMatchObject({ more: false })
    expect(pages).toBe(3)
    expect(await parts.rows.read<Segment>(segmentRowsOf('ended'), segment)).toMatchObject({ revision: 0, seen: 0 })
  })

  it('writes nothing until the store shows its latest writes, then continues', async () => {
    const { segment } = await planned('hidden')
    let isShown = false
    const write = (budget: number) =>
      exportStep(changed({ settled: async () => isShown }, { budget }))({ action: 'write', job: 'hidden', attempt: 1, segment })
    expect(await write(0)).toMatchObject({ more: true })
    expect(await parts.rows.read<Segment>(segmentRowsOf('hidden'), segment)).toMatchObject({ isDone: false, seen: 0 })
    isShown = true
    expect(await write(parts.budget)).toMatchObject({ more: false })
    expect(await parts.rows.read<Segment>(segmentRowsOf('hidden'), segment)).toMatchObject({ isDone: true })
  })

  it('leaves a checkpoint when its time is over, even if the clock runs back', async () => {
    const { segment } = await planned('back')
    let [elapsed, now, pages] = [0, Date.now(), 0]
    const resources: Partial<ExportParts['resources']> = {
      async *scan() {
        for (;;) {
          if (++pages > 20) throw new Error('it goes on')
          yield { versions: [], cursor: String(pages), tombstones: [] } as never
        }
      },
    }
    const clocks = { elapsed: () => (elapsed += 5_000), now: () => (now -= 60 * 60_000), budget: 40_000 }
    const write = exportStep(changed(resources, clocks))
    expect(await write({ action: 'write', job: 'back', attempt: 1, segment })).toMatchObject({ more: true })
    expect(await parts.rows.read<Segment>(segmentRowsOf('back'), segment)).toMatchObject({ revision: 2, cursor: String(pages) })
  })

  it('changes nothing in a finished segment', async () => {
    const { segment } = await planned('done')
    const write = () => exportStep(parts)({ action: 'write', job: 'done', attempt: 1, segment })
    await write()
    const row = await parts.rows.read<Segment>(segmentRowsOf('done'), segment)
    expect([row?.isDone, await write()]).toMatchObject([true, { more: false }])
    expect(await parts.rows.read<Segment>(segmentRowsOf('done'), segment)).toEqual(row)
  })

  it('stores a range only if no other did, and none of a removed job', async () => {
    const { job } = await planned('ranges')
    const range = newRange(ROUNDS.history, { kind: 'history', from: 1 })
    await parts.rows.change<Range>(rangeRowsOf('ranges'), 'r', () => range)
    const [{ keep }, other] = [await rangeSliceOf(parts, job, 'r'), await rangeSliceOf(parts, job, 'r')]
    const kept = await keep(range, { cursor: 'first' })
    expect(kept).toEqual({ ...range, cursor: 'first', revision: 1 })
    expect(await other.keep(range, { cursor: 'second' })).toBeUndefined()
    expect(await parts.rows.read(rangeRowsOf('ranges'), 'r')).toEqual(kept)
    await parts.rows.remove(rangeRowsOf('ranges'))
    expect(await keep(kept!, {})).toBeUndefined()
    expect(await parts.rows.read(rangeRowsOf('ranges'), 'r')).toBeUndefined()
  })

  it('begins the next file of a type before the last one would exceed its maximum size', async () => {
    const upload = new FileUpload({ ...parts, maxFileBytes: 10 }, 'parts', 'Patient')
    const numbers: number[] = []
    for (const size of [4, 6, 1, 10, 11, 1]) numbers.push((await upload.write(new Uint8Array(size), 1)).n)
    expect(numbers).toEqual([1, 2, 10_001, 20_001, 30_001, 40_001])
    expect(await parts.rows.read<FileRow>(fileRowsOf('parts'), 'Patient')).toMatchObject({ next: 40_002, size: 1 })
  })

  it('continues a file that an earlier version began, up to its estimated size', async () => {
    const upload = new FileUpload(parts, 'before', 'Patient')
    await upload.write(new Uint8Array(1), 1)
    const next = async (written: number): Promise<number> => {
      await parts.rows.change<FileRow>(fileRowsOf('before'), 'Patient', (row) => ({ id: row!.id, next: written + 1 }))
      return (await upload.write(new Uint8Array(1), 1)).n
    }
    expect([await next(5_119), await next(5_120), await next(10_000)]).toEqual([5_120, 10_001, 10_001])
  })
})

describe('A finish step', () => {
  it('waits for all segments of the plan, and reads no others', async () => {
    const { segment } = await planned('whole')
    const done = { isDone: true, written: { files: { Ghost: { parts: [], count: 3, size: 9 } }, tails: [] } } as unknown as Segment
    await parts.rows.change<Segment>(segmentRowsOf('whole'), 'other-0', () => done)
    const step = exportStep(parts)
    const finish = () => step({ action: 'finish', job: 'whole', attempt: 1 })
    await expect(finish()).rejects.toThrow('The step finish of an export broke')
    expect(await readJob(parts, 'whole')).toMatchObject({ state: 'in-progress' })
    await step({ action: 'write', job: 'whole', attempt: 1, segment })
    await finish()
    expect(await readJob(parts, 'whole')).toMatchObject({ state: 'complete', files: [{ name: 'Patient', count: 1 }] })
  })

  it('removes nothing from a newer attempt', async () => {
    const { job, segment } = await planned('overtaken')
    await exportStep(parts)({ action: 'write', job: job.id, attempt: 1, segment })
    const rows: ExportParts['rows'] = {
      read: (...asked) => parts.rows.read(...asked),
      list: (...asked) => parts.rows.list(...asked),
      remove: (...asked) => parts.rows.remove(...asked),
      async change(...asked) {
        await changeJob(parts.rows, job.id, incrementAttempt(1))
        return parts.rows.change(...asked)
      },
    }
    await exportStep({ ...parts, rows })({ action: 'finish', job: job.id, attempt: 1 })
    expect(await parts.rows.read<Segment>(segmentRowsOf(job.id), segment)).toMatchObject({ isDone: true })
    await exportStep(parts)({ action: 'finish', job: job.id, attempt: 2 })
    expect(await readJob(parts, job.id)).toMatchObject({ state: 'complete', attempt: 2, files: [{ name: 'Patient', count: 1 }] })
  })

  it('cleans up after an earlier finish or fail that broke', async () => {
    const { job, segment } = await planned('tidied')
    const step = exportStep(parts)
    await step({ action: 'write', job: job.id, attempt: 1, segment })
    for (const [action, change] of [
      ['finish', setComplete(1, [], instantAt(7))],
      ['fail', setError(1, 'why', instantAt(7))],
    ] as const) {
      await kickOff(parts, change(job))
      await parts.blobs.put('exports/tidied/tails/1', { bytes: new Uint8Array(1), contentType: 'text/plain' })
      await step({ action, job: job.id, attempt: 1 })
      expect(await parts.blobs.get('exports/tidied/tails/1')).toBeUndefined()
    }
  })
})

describe('A step of an outdated attempt', () => {
  it('changes nothing, and ends its workflow', async () => {
    const { job, segment } = await planned('older')
    await changeJob(parts.rows, job.id, incrementAttempt(1))
    const before = await readJob(parts, job.id)
    const step = (input: object) => exportStep(parts)({ job: job.id, attempt: 1, ...input } as StepInput)
    expect(await step({ action: 'plan' })).toMatchObject({ wait: 0, segments: [] })
    expect(await step({ action: 'write', segment })).toMatchObject({ more: false })
    expect(await step({ action: 'gather' })).toMatchObject({ ranges: [] })
    expect(await step({ action: 'collect', range: 'r' })).toMatchObject({ more: false })
    for (const action of ['finish', 'fail']) await step({ action })
    expect(await readJob(parts, job.id)).toEqual(before)
    expect(await parts.rows.read<Segment>(segmentRowsOf(job.id), segment)).toMatchObject({ revision: 0 })
  })
})
