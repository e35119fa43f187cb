/** Exports for partners of a partly damaged store: they report damage, and name no resource of other patients. */
import { describe, expect, it } from '@jest/globals'
import { WHOLE_ACCESS } from '../../lambdas/access/access.ts'
import type { Job } from '../../lambdas/export/job/job.ts'
import { partnerExportAccess } from '../../lambdas/export/plan/partner-types.ts'
import { ExportWorld, jobOf } from '../fixtures/exporting.ts'
import { MemoryRows } from '../fixtures/memory/kept-rows.ts'
import { observation, patient, referenceTo, type Tree } from '../fixtures/resources.ts'
import { exportPartsOf, kickOff, readFileLines, readJob, runExportJob } from './export-run.ts'
import { withLookupChoice } from './racing-world.ts'

const FOR_PROVIDER: NonNullable<Job['partner']> = { type: 'hl7.fhir.us.davinci-pdex#provider-download', view: 'provider' }
const FOR_ATTRIBUTION: NonNullable<Job['partner']> = { type: 'hl7.fhir.us.davinci-atr', view: 'provider' }

const groupOf = (id: string, ...members: readonly string[]): Tree => ({
  ...{ resourceType: 'Group', id, type: 'person', actual: true },
  member: members.map((name) => ({ entity: referenceTo(name) })),
})
const performed = (id: string, of: string, performer: string): Tree => ({
  ...observation(id, { subject: `Patient/${of}` }),
  performer: [referenceTo(performer)],
})

/** Creates a store in which the first version of each named resource is damaged. */
async function damagedWorld(resources: readonly Tree[], ...damaged: readonly string[]): Promise<ExportWorld> {
  const world = await ExportWorld.open()
  await world.save(1, ...resources)
  for (const name of damaged) world.damage(name, 1, '{"resourceType":"Observation","note":"canary"')
  return world
}

type Asked = { readonly partner?: NonNullable<Job['partner']>; readonly isLookedUp?: boolean }

/** Exports the Group `g`. Returns the messages of the file of errors, and the ids of the other files. */
async function exported(world: ExportWorld, { partner = FOR_PROVIDER, isLookedUp = false }: Asked = {}) {
  const stores = { rows: new MemoryRows(), blobs: world.blobs, resources: world.store, index: world.index }
  const parts = withLookupChoice(exportPartsOf({ ...stores, resources: world.counted(() => undefined) }), isLookedUp)
  const job = jobOf(5, {
    ...{ id: `j${isLookedUp}`, level: 'group', group: 'g', partner, groupAccess: WHOLE_ACCESS },
    access: partnerExportAccess(WHOLE_ACCESS.clauses, partner, 'g'),
  })
  await kickOff(parts, job)
  await runExportJob(parts, job)
  const { error = [], Provenance: _, ...files } = await readFileLines(parts.blobs, await readJob(parts, job.id))
  return {
    told: error.map((line) => JSON.parse(line).issue[0].details.text),
    ids: Object.fromEntries(Object.entries(files).map(([type, lines]) => [type, lines.map((line) => JSON.parse(line).id).toSorted()])),
  }
}

const damage = (name: string) => `${name} may be missing: what is stored of it is damaged`
const BOTH = [observation('of-ann', { subject: 'Patient/ann' }), observation('of-bert', { subject: 'Patient/bert' })]
const MEMBERS = [groupOf('g', 'Patient/ann'), patient('ann'), patient('bert')]

describe.each([
  ['looks resources up', true],
  ['scans the store', false],
])('an export for a partner that %s', (_, isLookedUp) => {
  it('reports a damaged resource of a member without its id', async () => {
    const world = await damagedWorld([...MEMBERS, ...BOTH], 'Observation/of-ann')
    expect(await exported(world, { isLookedUp })).toEqual({ told: [damage('A resource')], ids: { Patient: ['ann'] } })
  })

  it('has one message for damaged resources of several types', async () => {
    const coverage = { resourceType: 'Coverage', id: 'c', beneficiary: referenceTo('Patient/ann') }
    const world = await damagedWorld([...MEMBERS, ...BOTH, coverage], 'Observation/of-ann', 'Coverage/c')
    expect((await exported(world, { isLookedUp })).told).toEqual([damage('A resource')])
  })

  it('names a damaged Patient only if it is a member', async () => {
    const resources = [...MEMBERS, ...BOTH, performed('by-bert', 'ann', 'Patient/bert')]
    const world = await damagedWorld(resources, 'Patient/ann', 'Patient/bert')
    expect(await exported(world, { isLookedUp })).toEqual({
      told: [damage('Patient/ann')],
      ids: { Observation: ['by-bert', 'of-ann'] },
    })
  })

  it('reports a damaged resource to which a member refers without its id', async () => {
    const organization = { resourceType: 'Organization', id: 'clinic' }
    const world = await damagedWorld([...MEMBERS, organization, performed('1', 'ann', 'Organization/clinic')], 'Organization/clinic')
    expect(await exported(world, { isLookedUp })).toEqual({
      told: [damage('A resource')],
      ids: { Observation: ['1'], Patient: ['ann'] },
    })
  })

  it('reports no other damaged Group', async () => {
    const world = await damagedWorld([...MEMBERS, groupOf('other', 'Patient/ann', 'Patient/bert')], 'Group/other')
    expect(await exported(world, { isLookedUp, partner: FOR_ATTRIBUTION })).toEqual({ told: [], ids: { Group: ['g'], Patient: ['ann'] } })
  })
})

describe('an export for a partner', () => {
  it('reports nothing if it looks resources up and only those of others are damaged', async () => {
    const world = await damagedWorld([...MEMBERS, ...BOTH], 'Observation/of-bert', 'Patient/bert')
    expect(await exported(world, { isLookedUp: true })).toEqual({ told: [], ids: { Observation: ['of-ann'], Patient: ['ann'] } })
  })

  it('names no damaged resource of others if it scans the store', async () => {
    const world = await damagedWorld([...MEMBERS, ...BOTH], 'Observation/of-bert', 'Patient/bert')
    expect((await exported(world)).told).toEqual([damage('A resource')])
  })
})
