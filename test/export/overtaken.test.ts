/** Data that concurrent writers of an export leave for each other. */
import { expect, it } from '@jest/globals'
import type { Range } from '../../lambdas/export/collect/range.ts'
import { planRanges } from '../../lambdas/export/collect/range-planner.ts'
import { rangeRowsOf } from '../../lambdas/export/job/job.ts'
import { storeJobScope } from '../../lambdas/export/plan/job-scope.ts'
import { NO_WRITTEN_FILES, type WrittenFiles } from '../../lambdas/export/plan/segment.ts'
import type { ExportParts } from '../../lambdas/export/step-types.ts'
import { FileWriter } from '../../lambdas/export/write/file-writer.ts'
import { ExportWorld, jobOf } from '../fixtures/exporting.ts'
import { MemoryRows } from '../fixtures/memory/kept-rows.ts'
import { patient } from '../fixtures/resources.ts'
import { exportPartsOf, kickOff, readFileLines, readJob, runExportJob } from './export-run.ts'

const world = await ExportWorld.open()
const rows = new MemoryRows()
const parts = exportPartsOf({ rows, blobs: world.blobs, resources: world.store, index: world.index })

it('a tail in a stored checkpoint remains when the next checkpoint is refused', async () => {
  const writer = new FileWriter(parts, { id: 'j' }, NO_WRITTEN_FILES)
  const named: WrittenFiles[] = []
  const checkpoint = (isKept: boolean) => {
    writer.add('Patient', Buffer.from('{}'))
    return writer.checkpoint(async (written) => {
      named.push(written)
      return isKept
    })
  }
  const first = () => world.blobs.get(named[0]!.tails[0]!.key)
  expect([await checkpoint(true), await checkpoint(false)]).toEqual([true, false])
  expect((await first())?.bytes).toHaveLength(3)
  const other = new FileWriter(parts, { id: 'j' }, named[0]!)
  other.add('Patient', Buffer.from('{}'))
  await other.checkpoint(async ({ tails, files }) => {
    expect([tails.length, tails[0], files.Patient]).toMatchObject([2, named[0]!.tails[0], { count: 2, size: 6 }])
    return true
  })
  expect(await first()).toBeDefined()
})

it('a range that another step created and advanced stays unchanged', async () => {
  const job = { ...jobOf(5, { id: 'ranges', level: 'patient' }), plan: 'p' }
  await storeJobScope(parts, job, 'p', { patients: ['Patient/a'], added: [], filters: {}, share: 1, told: [] })
  const [name] = await planRanges(parts, job)
  await rows.change<Range>(rangeRowsOf(job.id), name!, (row) => ({ ...row!, revision: 3, isDone: true }))
  const before = await rows.read<Range>(rangeRowsOf(job.id), name!)
  const late: ExportParts['rows'] = {
    read: (...asked) => rows.read(...asked),
    change: (...asked) => rows.change(...asked),
    remove: (...asked) => rows.remove(...asked),
    async *list() {},
  }
  expect(await planRanges({ ...parts, rows: late }, job)).toEqual([name])
  expect(await rows.read<Range>(rangeRowsOf(job.id), name!)).toEqual(before)
  expect(await planRanges(parts, job)).not.toContain(name)
})

it('resources that refer to themselves or in a cycle are written once', async () => {
  const organization = (id: string, partOf: string) => ({
    ...{ resourceType: 'Organization', id, partOf: { reference: `Organization/${partOf}` } },
  })
  await world.save(1, patient('a', { managingOrganization: { reference: 'Organization/self' } }), organization('self', 'self'))
  await world.save(2, patient('b', { managingOrganization: { reference: 'Organization/one' } }), organization('one', 'other'))
  await world.save(3, organization('other', 'one'))
  const rule = { allowedForGroupExport: false, allowedForPatientExport: true, resourceTypes: ['Organization'] }
  const additionalResources = {
    Patient: [{ ...rule, path: '$.managingOrganization' }],
    Organization: [{ ...rule, path: '$.partOf' }],
  }
  await kickOff(parts, jobOf(5, { id: 'circle', level: 'patient' }))
  await runExportJob({ ...parts, additionalResources }, { id: 'circle', attempt: 1 })
  const { Organization } = await readFileLines(world.blobs, await readJob(parts, 'circle'))
  expect(Organization?.map((line) => JSON.parse(line).id).toSorted()).toEqual(['one', 'other', 'self'])
})
