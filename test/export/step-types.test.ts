/** Exports of a store to files, step by step. */
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { FilesystemBlobStore } from '../../lambdas/adapters/filesystem/blob-store.ts'
import { blobPrefixOf, type Job, segmentRowsOf } from '../../lambdas/export/job/job.ts'
import { REMOVED_PARTNER_REASON, RESTORED_STORE_REASON } from '../../lambdas/export/job/job-failure.ts'
import type { Segment } from '../../lambdas/export/plan/segment.ts'
import type { ExportParts, PlanOutput, StepInput } from '../../lambdas/export/step-types.ts'
import { exportStep } from '../../lambdas/export/workflow/workflow-step.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { ExportWorld, jobOf } from '../fixtures/exporting.ts'
import { MemoryRows } from '../fixtures/memory/kept-rows.ts'
import { observation, patient } from '../fixtures/resources.ts'
import { instantAt } from '../fixtures/versions.ts'
import { exportPartsOf, kickOff, readFileLines, readJob, runExportJob } from './export-run.ts'

const world = await ExportWorld.open()
const parts = exportPartsOf({
  rows: new MemoryRows(),
  blobs: new FilesystemBlobStore(join(newFolder(), 'blobs')),
  resources: world.store,
  index: world.index,
})

beforeAll(async () => {
  await world.save(1, patient('a', { family: 'Abt' }), patient('b'), observation('o', { subject: 'Patient/a' }))
  await world.save(2, patient('a', { family: 'Bonn' }))
  await world.save(9, patient('late'))
  await world.save(9, patient('a', { family: 'Celan' }))
})

const idsOf = (lines: readonly string[] = []): readonly string[] => lines.map((line) => JSON.parse(line).id).toSorted()

describe('An export of everything', () => {
  it('has each resource as of its time, one per line, by type', async () => {
    await kickOff(parts, jobOf(5, { id: 'all', level: 'system' }))
    await runExportJob(parts, { id: 'all', attempt: 1 })
    const job = await readJob(parts, 'all')
    expect(job).toMatchObject({
      state: 'complete',
      files: [
        { name: 'Observation', count: 1 },
        { name: 'Patient', count: 2 },
      ],
    })
    const lines = await readFileLines(parts.blobs, job)
    expect(idsOf(lines.Patient)).toEqual(['a', 'b'])
    expect(lines.Patient!.find((line) => line.includes('Bonn'))).toBeDefined()
    expect(instantAt(5)).toBe(job.transactionTime)
  })

  it('completes if the store has no page of an unused type', async () => {
    const { store } = world
    const resources: ExportParts['resources'] = {
      current: (...asked) => store.current(...asked),
      versions: (...asked) => store.versions(...asked),
      heads: (...asked) => store.heads(...asked),
      history: (...asked) => store.history(...asked),
      extent: (request, every) => store.extent(request, every),
      settled: (...asked) => store.settled(...asked),
      async *scan(request) {
        if (['Observation', 'Patient'].includes(request.type)) yield* store.scan(request)
      },
    }
    await kickOff(parts, jobOf(5, { id: 'pageless', level: 'system' }))
    await runExportJob({ ...parts, resources }, { id: 'pageless', attempt: 1 })
    expect((await readJob(parts, 'pageless')).files?.map(({ name, count }) => [name, count])).toEqual([
      ['Observation', 1],
      ['Patient', 2],
    ])
  })
})

async function blobsNow(id: string): Promise<readonly string[]> {
  const keys: string[] = []
  for await (const { key } of parts.blobs.list(blobPrefixOf(id))) keys.push(key)
  return keys
}

describe('A restored store', () => {
  const later = { ...parts, epoch: 2 }
  it.each(['plan', 'write', 'gather', 'collect', 'finish'] as const)(
    'ends an export at its step %s, and removes its data',
    async (action) => {
      const ofJob = { job: `back-${action}`, attempt: 1 } as const
      await kickOff(parts, { ...jobOf(5, { id: ofJob.job, level: 'system' }), epoch: 1 })
      const { segments } = (await exportStep({ ...parts, epoch: 1 })({ ...ofJob, action: 'plan' })) as PlanOutput
      await exportStep({ ...parts, epoch: 1 })({ ...ofJob, action: 'write', segment: segments[0]! })
      expect(await blobsNow(ofJob.job)).not.toEqual([])
      await exportStep(later)({ ...ofJob, segment: segments[0]!, range: '0', action } as StepInput)
      expect(await readJob(parts, ofJob.job)).toMatchObject({ state: 'error', reason: RESTORED_STORE_REASON })
      expect(await blobsNow(ofJob.job)).toEqual([])
      expect(await parts.rows.read(segmentRowsOf(ofJob.job), segments[0]!)).toBeUndefined()
    },
  )

  it('ends an export from before the restore, and no later one', async () => {
    await kickOff(parts, jobOf(5, { id: 'before', level: 'system' }))
    await kickOff(parts, { ...jobOf(5, { id: 'since', level: 'system' }), epoch: 2 })
    for (const id of ['before', 'since']) await runExportJob(later, { id, attempt: 1 })
    expect([(await readJob(parts, 'before')).reason, (await readJob(parts, 'since')).state]).toEqual([RESTORED_STORE_REASON, 'complete'])
  })
})

describe('A client that is not a registered partner', () => {
  const identifiers = [{ system: 'http://example.org/payers', value: 'other' }]
  const FOR_PARTNER: Partial<Job> = { partner: { type: 'hl7.fhir.us.davinci-pdex#payertopayer', view: 'payer', identifiers } }
  const OF_MATCH = { kind: 'match', match: { kind: 'payer', members: 1, identifiers } } as unknown as Partial<Job>
  const without = (clients: string[]): ExportParts => ({ ...parts, isPartner: async (client) => clients.push(client) === 0 })

  it.each([
    ['export', FOR_PARTNER],
    ['match', OF_MATCH],
  ])('gets no further step of its %s, which then has no data', async (kind, fields) => {
    for (const action of ['plan', 'write', 'gather', 'collect', 'finish'] as const) {
      const job = jobOf(5, { id: `${kind}-${action}`, level: 'group', ...fields })
      await kickOff(parts, job)
      await parts.blobs.put(`${blobPrefixOf(job.id)}files/Patient.ndjson`, { bytes: new Uint8Array(1), contentType: 'text/plain' })
      const clients: string[] = []
      await exportStep(without(clients))({ job: job.id, attempt: 1, segment: 'part-0', range: '0', action } as StepInput)
      expect(await readJob(parts, job.id)).toMatchObject({ state: 'error', reason: REMOVED_PARTNER_REASON })
      expect([clients, await blobsNow(job.id)]).toEqual([[job.client], []])
    }
  })

  it('starts exports if it belongs to the payer', async () => {
    const clients: string[] = []
    const { identifiers: _, ...partner } = FOR_PARTNER.partner!
    for (const [id, fields] of [
      ['itself', {}],
      ['for-partner', { partner }],
    ] as const) {
      await kickOff(parts, jobOf(5, { id, level: 'system', ...fields }))
      await exportStep(without(clients))({ job: id, attempt: 1, action: 'plan' })
      expect([id, (await readJob(parts, id)).plan]).toEqual([id, expect.any(String)])
    }
    expect(clients).toEqual([])
  })
})

describe('Two writers of a segment', () => {
  it('store one checkpoint: the later one overwrites nothing', async () => {
    await kickOff(parts, jobOf(5, { id: 'two', level: 'system', asked: { types: ['Patient'] } }))
    const ofJob = { job: 'two', attempt: 1 } as const
    const { segments } = (await exportStep(parts)({ ...ofJob, action: 'plan' })) as PlanOutput
    const write = { ...ofJob, action: 'write', segment: segments[0]! } as const
    const rowNow = () => parts.rows.read<Segment>(segmentRowsOf('two'), write.segment)
    let left: Segment | undefined
    const rows: typeof parts.rows = {
      read: (...asked) => parts.rows.read(...asked),
      list: (...asked) => parts.rows.list(...asked),
      remove: (...asked) => parts.rows.remove(...asked),
      async change(...asked) {
        expect(await exportStep(parts)(write)).toMatchObject({ more: false })
        left = await rowNow()
        return parts.rows.change(...asked)
      },
    }
    expect(await exportStep({ ...parts, rows })(write)).toMatchObject({ more: true })
    expect(left).toMatchObject({ isDone: true, revision: 1 })
    expect(await rowNow()).toEqual(left)
    await runExportJob(parts, { id: 'two', attempt: 1 })
    expect(idsOf((await readFileLines(parts.blobs, await readJob(parts, 'two'))).Patient)).toEqual(['a', 'b'])
  })
})
