/** Exports after patients joined or left a Group: looked up and scanned, with stores in memory and in files. */
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { FilesystemBlobStore } from '../../lambdas/adapters/filesystem/blob-store.ts'
import { SqliteRows } from '../../lambdas/adapters/sqlite-rows/rows.ts'
import type { Job } from '../../lambdas/export/job/job.ts'
import type { ExportParts } from '../../lambdas/export/step-types.ts'
import { newFolder, runAtEnd } from '../fixtures/at-end.ts'
import { ExportWorld, jobOf } from '../fixtures/exporting.ts'
import { MemoryBlobs } from '../fixtures/memory/blobs.ts'
import { MemoryRows } from '../fixtures/memory/kept-rows.ts'
import { observation, patient, referenceTo } from '../fixtures/resources.ts'
import { instantAt } from '../fixtures/versions.ts'
import { exportPartsOf, kickOff, readFileLines, readJob, runExportJob } from './export-run.ts'
import { withLookupChoice } from './racing-world.ts'

const inFiles = () => {
  const folder = newFolder()
  const rows = new SqliteRows(join(folder, 'rows.db'))
  runAtEnd(() => rows.close())
  return { rows, blobs: new FilesystemBlobStore(join(folder, 'blobs')) }
}
const STORES: readonly (readonly [string, () => Pick<ExportParts, 'rows' | 'blobs'>])[] = [
  ['in memory', () => ({ rows: new MemoryRows(), blobs: new MemoryBlobs() })],
  ['in files', inFiles],
]

const group = (...members: readonly string[]) => ({
  resourceType: 'Group',
  id: 'g',
  member: members.map((name) => ({ entity: referenceTo(name) })),
})

/** Returns each line with its family or status, such as `Patient/1 Abt`, and each line of omissions. */
async function exported(parts: ExportParts, job: Job): Promise<readonly string[]> {
  await kickOff(parts, job)
  await runExportJob(parts, job)
  const done = await readJob(parts, job.id)
  expect(done.state).toBe('complete')
  const shown = (line: string): string => {
    const { resourceType, id, name, status, ...rest } = JSON.parse(line)
    return id === undefined ? JSON.stringify(rest) : `${resourceType}/${id} ${name?.[0].family ?? status}`
  }
  return Object.values(await readFileLines(parts.blobs, done))
    .flatMap((lines) => lines.map(shown))
    .sort()
}

/** Old data is written at 1 or 2, `_since` is 3 and the export is at 6. Later writes are not part of the export. */
async function wardOfLatecomers(): Promise<ExportWorld> {
  const world = await ExportWorld.open()
  const all = ['1', '2', 'gone', 'later', 'changed'].map((id) => patient(id, { family: 'Abt' }))
  const performer = ['gone', 'later', 'changed', 'never'].map((id) => referenceTo(`Patient/${id}`))
  await world.save(1, group('Patient/1'), ...all, observation('old-of-1', { subject: 'Patient/1' }))
  await world.save(2, observation('old-of-2', { subject: 'Patient/2' }), observation('amended', { subject: 'Patient/2' }))
  await world.save(2, observation('rid', { subject: 'Patient/2' }))
  await world.remove(2, 'Observation/rid')
  await world.save(4, group('Patient/1', 'Patient/2'), observation('new', { subject: 'Patient/1', performer }))
  await world.remove(5, 'Patient/gone')
  await world.save(8, patient('changed', { family: 'Bonn' }), observation('amended', { subject: 'Patient/2', status: 'amended' }))
  await world.save(8, observation('none-of-it', { subject: 'Patient/2' }))
  await world.remove(8, 'Patient/later')
  return world
}

const REFERRED = ['Patient/1 Abt', 'Patient/changed Abt', 'Patient/later Abt']
const OF_THE_ADDED = ['Observation/amended final', 'Observation/old-of-2 final', 'Patient/2 Abt']

describe.each(STORES)('An export after membership changes, with stores %s', (_, open) => {
  const asked = { since: instantAt(3) }

  it.each([
    ['scanned', false],
    ['looked up', true],
  ])('includes all data of added members, and Patients that new data refer to: %s', async (_name, isLookedUp) => {
    const world = await wardOfLatecomers()
    const { index } = world
    const parts = withLookupChoice(exportPartsOf({ ...open(), resources: world.counted(() => {}), index }), isLookedUp)
    expect(await exported(parts, jobOf(6, { group: 'g', asked }))).toEqual(['Observation/new final', ...OF_THE_ADDED, ...REFERRED].sort())
  })

  it('includes Patients that new data refer to, and deletions, at patient level', async () => {
    const { store: resources, index } = await wardOfLatecomers()
    const parts = exportPartsOf({ ...open(), resources, index })
    const deletion = JSON.stringify({ type: 'transaction', entry: [{ request: { method: 'DELETE', url: 'Patient/gone' } }] })
    expect(await exported(parts, jobOf(6, { level: 'patient', asked }))).toEqual(
      ['Group/g undefined', 'Observation/new final', 'Patient/2 Abt', ...REFERRED, deletion].sort(),
    )
  })

  it('includes and reports no Patient deleted before, without _since', async () => {
    const { store: resources, index } = await wardOfLatecomers()
    const parts = exportPartsOf({ ...open(), resources, index })
    expect(await exported(parts, jobOf(6, { group: 'g' }))).toEqual(
      ['Observation/new final', 'Observation/old-of-1 final', ...OF_THE_ADDED, ...REFERRED].sort(),
    )
  })
})
