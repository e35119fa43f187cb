/** Groups in exports of single patients, and the types that exports of a Group leave out. */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { accessOf } from '../../lambdas/access/access.ts'
import { manifestOf } from '../../lambdas/export/job/manifest.ts'
import type { ExportParts } from '../../lambdas/export/step-types.ts'
import { indexBehind } from '../../lambdas/ports/faults.ts'
import { ExportWorld, jobOf } from '../fixtures/exporting.ts'
import { MemoryRows } from '../fixtures/memory/kept-rows.ts'
import { observation, patient, referenceTo } from '../fixtures/resources.ts'
import { exportPartsOf, kickOff, readFileLines, readJob, runExportJob } from './export-run.ts'

const groupOf = (id: string, ...members: readonly string[]) => ({
  ...{ resourceType: 'Group', id, type: 'person', actual: true },
  member: members.map((member) => ({ entity: referenceTo(member) })),
})

let parts: ExportParts
beforeAll(async () => {
  const world = await ExportWorld.open()
  await world.save(
    1,
    ...[patient('a'), patient('b'), groupOf('both', 'Patient/a', 'Patient/b'), groupOf('one', 'Patient/a')],
    ...[
      observation('o', { subject: 'Patient/a' }),
      { resourceType: 'Claim', id: 'c', status: 'active', patient: referenceTo('Patient/a') },
    ],
    {
      resourceType: 'Provenance',
      id: 'p',
      target: [referenceTo('Group/both')],
      recorded: '2024-01-01T00:00:00Z',
      agent: [{ who: referenceTo('Patient/a') }],
    },
  )
  parts = exportPartsOf({ rows: new MemoryRows(), blobs: world.blobs, resources: world.store, index: world.index })
})

let jobs = 0

/** Returns the lines of the export as `Type/id`, its errors and the extension of its manifest. */
async function exported(fields: Parameters<typeof jobOf>[1], groupTypes = ['all']) {
  const started = jobOf(2, { ...fields, id: `job-${++jobs}` })
  await kickOff(parts, started)
  await runExportJob({ ...parts, groupTypes }, started)
  const job = await readJob(parts, started.id)
  const { error = [], ...files } = await readFileLines(parts.blobs, job)
  const names = Object.values(files).flatMap((lines) =>
    lines.map((line) => JSON.parse(line)).map(({ resourceType, id }) => `${resourceType}/${id}`),
  )
  return { names: names.sort(), errors: error.map((line) => JSON.parse(line).issue[0].details.text), ...manifestOf(job, new Map()) }
}

describe('An export of single patients', () => {
  it('holds no Group, which would name other members', async () => {
    const { names } = await exported({ level: 'patient', asked: { patients: ['Patient/a'] } })
    expect(names).toEqual(['Claim/c', 'Observation/o', 'Patient/a'])
  })

  it('reports that it leaves Group out if the request names it', async () => {
    const { names, errors } = await exported({ level: 'patient', asked: { patients: ['Patient/a'], types: ['Group', 'Observation'] } })
    expect(names).toEqual(['Observation/o', 'Patient/a'])
    expect(errors).toEqual([expect.stringContaining('_type names Group')])
  })

  it('holds no Group if it is of a Group', async () => {
    expect((await exported({ group: 'one' })).names).toEqual(['Claim/c', 'Observation/o', 'Patient/a'])
  })

  it('holds Groups if it is of all patients', async () => {
    expect((await exported({ level: 'patient' })).names).toEqual(expect.arrayContaining(['Group/both', 'Group/one', 'Patient/b']))
  })
})

describe('The manifest of a Group export', () => {
  const TYPES = ['Patient', 'Observation']
  const accessFor = (...scopes: readonly string[]) =>
    accessOf({
      scopes: ['system/Group.rs', 'system/Patient.rs', ...scopes],
      isIdentified: false,
      isClientToken: true,
      patientScopesWithoutContext: 'all',
    })

  it('names stored types that the setting leaves out, and no error', async () => {
    const { names, error, extension } = await exported({ group: 'one' }, TYPES)
    expect([names, error]).toEqual([['Observation/o', 'Patient/a'], []])
    expect(extension).toEqual({ omittedTypes: { types: ['Claim', 'Provenance'], setting: 'FHIR_GROUP_EXPORT_TYPES' } })
  })

  it('names none that the client may not see', async () => {
    const extensionFor = async (...scopes: readonly string[]) =>
      (await exported({ group: 'one', access: accessFor(...scopes) }, TYPES)).extension
    expect(await extensionFor()).toBeUndefined()
    expect(await extensionFor('system/Claim.rs?status=draft')).toBeUndefined()
    expect(await extensionFor('system/Claim.rs?status=active')).toMatchObject({ omittedTypes: { types: ['Claim'] } })
  })

  it('names types of full scopes if the index cannot answer, and completes', async () => {
    const { index } = parts
    const behind = indexBehind()
    const find: typeof index.find = (plan) => (plan.types.includes('Claim') ? Promise.reject(behind) : index.find(plan))
    const extensionFor = async (...scopes: readonly string[]) => {
      const reported: unknown[] = []
      const report = (error: unknown): void => void reported.push(error)
      const started = jobOf(2, { group: 'one', id: `job-${++jobs}`, access: accessFor(...scopes) })
      await kickOff(parts, started)
      await runExportJob(
        { ...parts, groupTypes: TYPES, index: { find, distinct: (...asked) => index.distinct(...asked) }, report },
        started,
      )
      const { state, omittedTypes } = await readJob(parts, started.id)
      return [state, omittedTypes, reported] as const
    }
    expect(await extensionFor('system/Claim.rs')).toEqual(['complete', ['Claim'], [behind]])
    expect(await extensionFor('system/Claim.rs?status=active')).toEqual(['complete', undefined, [behind]])
  })

  it('names none where the request names types, and none where all are exported', async () => {
    expect((await exported({ group: 'one', asked: { types: ['Patient'] } }, TYPES)).extension).toBeUndefined()
    expect((await exported({ group: 'one' })).extension).toBeUndefined()
  })
})
