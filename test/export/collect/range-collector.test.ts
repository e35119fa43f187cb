/** Resources found outside a scan: targets of exported references, and the data of few patients by index and history. */
import { describe, expect, it } from '@jest/globals'
import { DEFAULT_ADDITIONAL_RESOURCES } from '../../../lambdas/export/additional-resources.ts'
import type { Job } from '../../../lambdas/export/job/job.ts'
import type { ExportParts } from '../../../lambdas/export/step-types.ts'
import { ExportWorld, jobOf } from '../../fixtures/exporting.ts'
import { caseCountOf, firstSeed } from '../../fixtures/long-runs.ts'
import { MemoryRows } from '../../fixtures/memory/kept-rows.ts'
import { observation, patient, referenceTo } from '../../fixtures/resources.ts'
import { instantAt } from '../../fixtures/versions.ts'
import { exportPartsOf, kickOff, readFileLines, readJob, runExportJob } from '../export-run.ts'
import { expectedOf, RacingWorld, readAllLines, withLookupChoice } from '../racing-world.ts'

const PATIENTS = 8

async function exportedBy(parts: ExportParts, job: Job): Promise<readonly string[]> {
  await kickOff(parts, job)
  await runExportJob(parts, job)
  const done = await readJob(parts, job.id)
  expect(done.state).toBe('complete')
  return readAllLines(await readFileLines(parts.blobs, done))
}

const MANY = caseCountOf(10_000, 100_000)

describe('A resource that many others refer to', () => {
  it(`stands once in the files, and is read once: one Organization of ${MANY} resources`, async () => {
    const world = await ExportWorld.open({ isIndexed: false })
    const group = { resourceType: 'Group', id: 'g', member: [{ entity: referenceTo('Patient/1') }] }
    const chain = ['1', '2', '3'].map((id) => ({ resourceType: 'Organization', id, partOf: referenceTo(`Organization/${Number(id) + 1}`) }))
    await world.save(1, group, patient('1'), ...chain)
    for (let first = 0; first < MANY; first += 5_000)
      await world.save(
        2,
        ...Array.from({ length: 5_000 }, (_, i) =>
          observation(`${first + i}`, { subject: 'Patient/1', performer: [referenceTo('Organization/1')] }),
        ),
      )
    const read: string[] = []
    const rows = new MemoryRows()
    const parts = exportPartsOf(
      { rows, blobs: world.blobs, index: world.index, resources: world.counted((type, id) => read.push(`${type}/${id}`)) },
      { additionalResources: DEFAULT_ADDITIONAL_RESOURCES },
    )
    const lines = await exportedBy(parts, jobOf(3, { group: 'g' }))
    expect(lines.length).toBe(MANY + 1 + 3)
    expect(lines.filter((line) => line.includes('"resourceType":"Organization"')).length).toBe(3)
    expect(read).toEqual(['Group/g', 'Organization/1', 'Organization/2', 'Organization/3', 'Organization/4'])
  })
})

describe('A page of lookups', () => {
  it.each([
    [16, 4_000_000, [1, 2, 4, 4, 4, 1]],
    [100, 10, [1, 2, 4, 8, 16, 16, 16, 16, 16, 5]],
  ])('grows as far as the largest resource allows: %i resources of %i bytes', async (count, size, expected) => {
    const world = await ExportWorld.open({ isIndexed: false })
    const group = { resourceType: 'Group', id: 'g', member: [{ entity: referenceTo('Patient/1') }] }
    const all = Array.from({ length: count }, (_, i) => ({ resourceType: 'Organization', id: `${i}`, name: 'x'.repeat(size) }))
    const performer = all.map(({ id }) => referenceTo(`Organization/${id}`))
    await world.save(1, group, patient('1'), ...all, observation('1', { subject: 'Patient/1', performer }))
    const pages: number[] = []
    const resources: ExportParts['resources'] = {
      ...world.counted(() => {}),
      heads(keys) {
        if (keys[0]?.type === 'Organization') pages.push(keys.length)
        return world.store.heads(keys)
      },
    }
    const { blobs, index } = world
    const parts = exportPartsOf({ rows: new MemoryRows(), blobs, index, resources }, { additionalResources: DEFAULT_ADDITIONAL_RESOURCES })
    expect(await exportedBy(parts, jobOf(3, { group: 'g' }))).toHaveLength(count + 2)
    expect(pages).toEqual(expected)
  })
})

const ASKED: readonly (readonly [string, (since: number) => Partial<Job['asked']>])[] = [
  ['everything', () => ({})],
  ['Observations alone', () => ({ types: ['Observation', 'Organization'] })],
  ['what is newer', (since) => ({ since })],
  ['what is older', (until) => ({ until })],
  ['final Observations', () => ({ filters: [{ type: 'Observation', query: 'status=final' }] })],
  ['one member', () => ({ patients: ['Patient/1'] })],
]

describe.each(Array.from({ length: caseCountOf(2, 50) }, (_, i) => firstSeed() + i + 1))('While others write (seed %i)', (seed) => {
  it.each(ASKED)('a Group is exported as of its time, by lookup and by scan: %s', async (_, asked) => {
    const racing = new RacingWorld(await ExportWorld.open(), seed)
    await racing.fill(PATIENTS, 80)
    const since = instantAt(racing.now())
    for (let i = 0; i < 40; i++) await racing.write(PATIENTS)
    const job = jobOf(racing.now(), { group: 'g', asked: asked(since) })
    const parts = racing.parts(PATIENTS)
    const scanned = await exportedBy(withLookupChoice(parts, false), { ...job, id: 'scanned' })
    const lookedUp = await exportedBy(withLookupChoice(parts, true), { ...job, id: 'looked-up' })
    const expected = expectedOf(racing.log, job)
    expect(scanned).toEqual(expected)
    expect(lookedUp).toEqual(expected)
    expect(expected.length).toBeGreaterThan(0)
  })
})
