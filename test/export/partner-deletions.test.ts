/** Deletions in exports for partners: those of members, also of members whose Patient was deleted, if they could be exported before. */
import { describe, expect, it } from '@jest/globals'
import type { Job } from '../../lambdas/export/job/job.ts'
import type { ExportParts } from '../../lambdas/export/step-types.ts'
import { ExportWorld, jobOf } from '../fixtures/exporting.ts'
import { MemoryRows } from '../fixtures/memory/kept-rows.ts'
import { observation, patient, referenceTo, type Tree } from '../fixtures/resources.ts'
import { instantAt } from '../fixtures/versions.ts'
import { ANN, matchInput, OTHER, OWN, provisionFor } from '../partners/payer-exchange.ts'
import { exportPartsOf, kickOff, readFileLines, readJob, runExportJob } from './export-run.ts'

const ETHNICITY = { system: 'http://terminology.hl7.org/CodeSystem/v3-ActCode', code: 'ETH' }
const FOR_PROVIDER: NonNullable<Job['partner']> = { type: 'hl7.fhir.us.davinci-pdex#provider-download', view: 'provider' }
const FOR_PAYER: NonNullable<Job['partner']> = { type: 'hl7.fhir.us.davinci-pdex#payertopayer', view: 'payer', identifiers: [OTHER] }

const GROUP: Tree = {
  ...{ resourceType: 'Group', id: 'g', type: 'person', actual: true },
  member: ['ann', 'bert'].map((id) => ({ entity: referenceTo(`Patient/${id}`) })),
}
const consentOf = (id: string, fields: Tree = {}): Tree => ({
  ...matchInput(ANN).parameter[2].resource,
  ...{ id: `consent-${id}`, patient: referenceTo(`Patient/${id}`) },
  provision: { ...provisionFor(OTHER), period: { start: '2000-01-01', end: '2099-12-31' } },
  ...fields,
})
const denialOf = (id: string): Tree => consentOf(id, { id: `denial-${id}`, category: [{ text: 'any' }], provision: { type: 'deny' } })
const of = (name: string, id: string, fields: Tree = {}): Tree => ({ ...observation(id, { subject: `Patient/${name}` }), ...fields })

/** Creates a store of two members, with Consents for payers and an Observation of each. */
async function worldWith(...more: readonly Tree[]): Promise<ExportWorld> {
  const world = await ExportWorld.open()
  await world.save(1, GROUP, patient('ann'), patient('bert'), consentOf('ann'), consentOf('bert'))
  await world.save(1, of('ann', 'of-ann'), of('bert', 'of-bert'), ...more)
  return world
}

type Asked = {
  readonly since?: number
  readonly patients?: readonly string[]
  readonly labels?: ExportParts['partners']['sensitiveLabels']
}

/** Exports the changes since the instant 2. Returns the deletions, the other lines and the messages. */
async function exported(
  world: ExportWorld,
  partner: NonNullable<Job['partner']>,
  { since = instantAt(2), patients = [], labels = 'none' }: Asked = {},
) {
  const stores = { rows: new MemoryRows(), blobs: world.blobs, resources: world.store, index: world.index }
  const partners = { payer: [OWN], sensitiveLabels: labels, payerWindowYears: 5, providerSince: '2016-01-01' }
  const parts = exportPartsOf(stores, { partners })
  const job = jobOf(9, { id: 'j', level: 'group', group: 'g', partner, asked: { since, patients } })
  await kickOff(parts, job)
  await runExportJob(parts, job)
  const { deleted = [], error = [], Provenance: _, ...files } = await readFileLines(parts.blobs, await readJob(parts, job.id))
  return {
    deleted: deleted.flatMap((line) => JSON.parse(line).entry.map(({ request }: Tree) => `${request.method} ${request.url}`)).toSorted(),
    lines: Object.values(files)
      .flat()
      .map((line) => JSON.parse(line).id),
    told: error.map((line) => JSON.parse(line).issue[0].details.text),
  }
}

const PARTNERS = [
  ['a payer', FOR_PAYER, ['Patient/bert is not exported']],
  ['a provider', FOR_PROVIDER, []],
] as const

describe.each(PARTNERS)('an export with _since for %s', (_, partner, told) => {
  it('names the deletions of a member with a Patient that was deleted after _since', async () => {
    const world = await worldWith(of('bert', 'other-of-bert'))
    await world.remove(3, 'Observation/of-ann', 'Observation/of-bert')
    await world.remove(4, 'Patient/bert')
    expect(await exported(world, partner)).toEqual({
      deleted: ['DELETE Observation/of-ann', 'DELETE Observation/of-bert', 'DELETE Patient/bert'],
      ...{ lines: [], told },
    })
  })

  it('has no other data of a member with a deleted Patient', async () => {
    const world = await worldWith()
    await world.remove(3, 'Patient/bert')
    await world.save(4, of('bert', 'of-bert'), of('bert', 'new'))
    expect(await exported(world, partner)).toEqual({ deleted: ['DELETE Patient/bert'], lines: [], told })
  })

  it('names no deletion of a member with a Patient that was deleted before _since', async () => {
    const world = await worldWith()
    await world.remove(2, 'Patient/bert')
    await world.remove(3, 'Observation/of-bert')
    expect(await exported(world, partner)).toEqual({ deleted: [], lines: [], told })
  })

  it('names no deletion of a member that denied', async () => {
    const world = await worldWith(denialOf('bert'))
    await world.remove(3, 'Observation/of-bert', 'Patient/bert')
    expect((await exported(world, partner)).deleted).toEqual([])
  })

  it('names no deletion of another member than the named one', async () => {
    const world = await worldWith()
    await world.remove(3, 'Observation/of-ann', 'Patient/bert')
    expect((await exported(world, partner, { patients: ['Patient/ann'] })).deleted).toEqual(['DELETE Observation/of-ann'])
  })

  it('names no deletion of a resource about another member', async () => {
    const world = await worldWith({ ...of('ann', 'by-bert'), performer: [referenceTo('Patient/bert')] })
    await world.save(1, patient('carl'), { ...of('carl', 'of-carl'), performer: [referenceTo('Patient/bert')] })
    await world.remove(3, 'Observation/by-bert', 'Observation/of-carl', 'Patient/bert', 'Patient/carl')
    expect((await exported(world, partner)).deleted).toEqual(['DELETE Observation/by-bert', 'DELETE Patient/bert'])
  })
})

describe('an export with _since for a payer', () => {
  it('names no deletion of a member without a Consent in force', async () => {
    const world = await worldWith()
    await world.remove(3, 'Patient/bert', 'Consent/consent-bert')
    expect((await exported(world, FOR_PAYER)).deleted).toEqual([])
  })

  it('names no deletion of sensitive data that the Consent excludes', async () => {
    const world = await worldWith(of('bert', 'sensitive', { meta: { security: [ETHNICITY] } }))
    await world.remove(3, 'Observation/sensitive', 'Observation/of-bert', 'Patient/bert')
    const labels = [`${ETHNICITY.system}|${ETHNICITY.code}`]
    expect((await exported(world, FOR_PAYER, { labels })).deleted).toEqual(['DELETE Observation/of-bert', 'DELETE Patient/bert'])
    expect((await exported(world, FOR_PAYER)).deleted).toContain('DELETE Observation/sensitive')
  })
})
