/** Exports of the embedded deployment, from a row to files, on the export thread. */
import { copyFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { blobPrefixOf, type Job } from '../../../lambdas/export/job/job.ts'
import { REMOVED_PARTNER_REASON } from '../../../lambdas/export/job/job-failure.ts'
import { removeStoppedJobs, startJob } from '../../../lambdas/export/job/job-sweep.ts'
import { changeJob, setStopped } from '../../../lambdas/export/job/job-transitions.ts'
import type { BlobStore } from '../../../lambdas/ports/blobs/blob-store.ts'
import { readConfig } from '../../../lambdas/runtime/config.ts'
import { installRestoredStore } from '../../../lambdas/runtime/control/backup-command.ts'
import { type Exports, openExports } from '../../../lambdas/runtime/embedded/exports.ts'
import { openStores } from '../../../lambdas/runtime/embedded/stores.ts'
import { kickOff, readFileLines, readJob } from '../../export/export-run.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { eventually } from '../../fixtures/eventually.ts'
import { jobOf, noMatches, TEST_SEARCH_CONTEXT } from '../../fixtures/exporting.ts'
import { MemoryGrants } from '../../fixtures/memory/grants.ts'
import { patient } from '../../fixtures/resources.ts'
import { patientKeyOf, writeOf } from '../../fixtures/versions.ts'

const DAY = 24 * 60 * 60 * 1000

/** Opens a folder with `patients` patients and its exports. `ahead`: milliseconds by which its clock is ahead. */
async function homeOf(folder = newFolder(), { patients = 0, ahead = 0, settings = {} } = {}) {
  const path = (name: string): string => join(folder, name)
  const reports: unknown[] = []
  const report = (error: unknown) => void reports.push(error)
  const now = (): number => {
    clock.looks++
    return Date.now() + clock.ahead
  }
  const clock = { ahead, looks: 0, now, maySweep: () => true }
  const stores = await openStores({ path, now: clock.now, reading: TEST_SEARCH_CONTEXT, budget: 10_000, report })
  const ids = Array.from({ length: patients }, (_, i) => `p${i}`)
  const writes = ids.map((id) => writeOf(patientKeyOf(id), { expected: 0, body: patient(id), lastUpdated: clock.now() - 1_000 }))
  for (let at = 0; at < writes.length; at += 1_000) await stores.store.commit(writes.slice(at, at + 1_000), [])
  const { exports, close } = await openExports({
    bases: {},
    storeMatch: noMatches,
    isPartner: async () => false,
    authorization: { grants: new MemoryGrants(clock.now) },
    ...{ config: readConfig(settings), baseUrl: TEST_SEARCH_CONTEXT.baseUrl, path, stores, clock, report, key: Buffer.alloc(32) },
  }).catch(async (error) => {
    await stores.close()
    throw error
  })
  const closeAll = async (): Promise<void> => {
    await close()
    await stores.close()
  }
  return { folder, ids, clock, store: stores.store, exports, reports, close: closeAll }
}

const systemJob = (fields: Partial<Job> = {}): Job => ({ ...jobOf(0, { level: 'system' }), transactionTime: Date.now(), ...fields })

const ended = ({ rows }: Exports['exports'], id: string): Promise<Job> =>
  eventually(() => readJob({ rows }, id), { until: ({ state }) => state !== 'in-progress' })

async function exported(exports: Exports['exports'], id = 'j'): Promise<readonly string[]> {
  const job = await ended(exports, id)
  expect(job.reason).toBeUndefined()
  const { Patient: lines = [] } = await readFileLines(exports.blobs, job)
  return lines.map((line) => JSON.parse(line).id).sort()
}

async function keysOf(blobs: BlobStore): Promise<readonly string[]> {
  const keys: string[] = []
  for await (const { key } of blobs.list(blobPrefixOf('j'))) keys.push(key)
  return keys
}

describe('An export of the embedded deployment', () => {
  it('writes every resource, and is removed when it is stopped', async () => {
    const { exports, ids, reports, close } = await homeOf(undefined, { patients: 300 })
    const job = systemJob()
    await kickOff(exports, job)
    await startJob(exports.workflow, job)
    expect(await exported(exports)).toEqual([...ids].sort())
    // The temporary files of its writers are removed soon.
    await eventually(() => keysOf(exports.blobs), { until: ({ length }) => length === 1 })
    expect(await keysOf(exports.blobs)).toEqual(['exports/j/files/Patient.ndjson'])
    await changeJob(exports.rows, 'j', setStopped(Date.now()))
    await removeStoppedJobs({ ...exports, now: Date.now })
    expect(await keysOf(exports.blobs)).toEqual([])
    await close()
    expect(reports).toEqual([])
  })

  it('ends if it is for a client that is not a registered partner', async () => {
    const partner = { type: 'hl7.fhir.us.davinci-pdex#payertopayer', view: 'payer', identifiers: [] } as const
    const { exports, reports, close } = await homeOf(undefined, { patients: 1 })
    const job = systemJob({ partner })
    await kickOff(exports, job)
    await startJob(exports.workflow, job)
    expect((await ended(exports, 'j')).reason).toBe(REMOVED_PARTNER_REASON)
    await close()
    expect(reports).toEqual([])
  })

  it('continues after a restart of the server, without missing or duplicate resources', async () => {
    const first = await homeOf(undefined, { patients: 3_000 })
    const job = systemJob()
    await kickOff(first.exports, job)
    await startJob(first.exports.workflow, job)
    await eventually(async () => (await keysOf(first.exports.blobs)).length > 0)
    await first.close()
    const second = await homeOf(first.folder)
    expect(await exported(second.exports)).toEqual([...first.ids].sort())
    await second.close()
    expect([...first.reports, ...second.reports]).toEqual([])
  })

  it('waits for a clock that was set back, without blocking writes', async () => {
    const { clock, exports, store, close } = await homeOf(undefined, { ahead: -DAY })
    const job = systemJob()
    await kickOff(exports, job)
    await startJob(exports.workflow, job)
    await eventually(async () => (await readJob(exports, 'j')).began !== undefined)
    // It checks again whether all writes before its instant are complete.
    const looks = clock.looks
    await eventually(() => clock.looks > looks)
    const kinds = new Set<string>()
    for (let n = 0; n < 20; n++) {
      const write = writeOf(patientKeyOf(`w${n}`), { expected: 0, body: patient(`w${n}`), lastUpdated: clock.now() })
      kinds.add((await store.commit([write], [])).kind)
    }
    expect([[...kinds], (await readJob(exports, 'j')).state]).toEqual([['committed'], 'in-progress'])
    clock.ahead = 0
    expect(await exported(exports)).toHaveLength(20)
    await close()
  })

  it.each([
    ['ahead of', 30 * DAY],
    ['behind', -30 * DAY],
  ])('ends by the clock of the server, which is weeks %s the machine', async (_, ahead) => {
    const { clock, exports, reports, close } = await homeOf(undefined, { patients: 20, ahead })
    const transactionTime = clock.now()
    // The data of a single patient is looked up, which reads the clock too.
    const job = { ...systemJob({ level: 'patient', transactionTime }), asked: { ...systemJob().asked, patients: ['Patient/p7'] } }
    await kickOff(exports, job)
    await startJob(exports.workflow, job)
    expect(await exported(exports)).toEqual(['p7'])
    const { ended: end } = await readJob(exports, 'j')
    expect([end! >= transactionTime, end! <= clock.now()]).toEqual([true, true])
    await close()
    expect(reports).toEqual([])
  })

  it('is removed when its retention time is over', async () => {
    const first = await homeOf(undefined, { patients: 1 })
    const job = systemJob()
    await kickOff(first.exports, job)
    await startJob(first.exports.workflow, job)
    await exported(first.exports)
    await first.close()
    const early = await homeOf(first.folder, { ahead: 9 * DAY })
    expect(await keysOf(early.exports.blobs)).toContain('exports/j/files/Patient.ndjson')
    await early.close()
    const late = await homeOf(first.folder, { ahead: 11 * DAY })
    await eventually(async () => (await readJob(late.exports, 'j')) === undefined)
    expect(await keysOf(late.exports.blobs)).toEqual([])
    await late.close()
  })

  it('is removed when a backup replaces its store', async () => {
    const { folder, exports, close } = await homeOf(undefined, { patients: 1 })
    const job = systemJob()
    await kickOff(exports, job)
    await startJob(exports.workflow, job)
    await exported(exports)
    await close()
    const other = await homeOf(undefined, { patients: 2 })
    await other.close()
    copyFileSync(join(other.folder, 'store.db'), join(folder, 'restored.db'))
    await installRestoredStore(folder)
    expect([existsSync(join(folder, 'exports')), existsSync(join(folder, 'exports.db'))]).toEqual([false, false])
  })
})

it('A damaged file of jobs is reported with a remedy, and stays unchanged', async () => {
  const first = await homeOf(undefined, { patients: 1 })
  const job = systemJob()
  await kickOff(first.exports, job)
  await first.close()
  const file = join(first.folder, 'exports.db')
  const rubbish = Buffer.alloc(20_000, 'of my bicycle')
  writeFileSync(file, rubbish)
  await expect(homeOf(first.folder)).rejects.toThrow(
    `${file} is damaged, or is no file of this server: move it away to go on without the exports there were`,
  )
  expect(readFileSync(file).equals(rubbish)).toBe(true)
  renameSync(file, `${file}.damaged`)
  const second = await homeOf(first.folder)
  await kickOff(second.exports, job)
  await startJob(second.exports.workflow, job)
  expect(await exported(second.exports)).toEqual(first.ids)
  await second.close()
})

describe('The settings of exports', () => {
  it.each([
    ['{', 'FHIR_EXPORT_ADDITIONAL_RESOURCES is no JSON'],
    ['/nowhere.json', 'FHIR_EXPORT_ADDITIONAL_RESOURCES: /nowhere.json cannot be read (ENOENT)'],
    ['{"Nobody": []}', 'FHIR_EXPORT_ADDITIONAL_RESOURCES.Nobody is no resource type of R4'],
  ])('are rejected before any export: %s', async (text, reason) => {
    await expect(homeOf(undefined, { settings: { FHIR_EXPORT_ADDITIONAL_RESOURCES: text } })).rejects.toThrow(reason)
  })

  it('may be in a file', async () => {
    const folder = newFolder()
    const file = join(folder, 'rules.json')
    writeFileSync(file, '{"Nobody": []}')
    await expect(homeOf(undefined, { settings: { FHIR_EXPORT_ADDITIONAL_RESOURCES: file } })).rejects.toThrow('Nobody is no resource type')
  })

  it('accept only resource types for exports of groups', () =>
    expect(() => readConfig({ FHIR_GROUP_EXPORT_TYPES: 'Patient,Nobody' })).toThrow('resource types of R4'))
})
