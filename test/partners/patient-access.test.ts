/** An app of a member searches claims, coverages and authorizations, with the search parameters of CARIN BB and PDex. */
import { describe, expect, it } from '@jest/globals'
import { addPackage, openPackages } from '../../lambdas/runtime/control/package-commands.ts'
import type { TestClient, Tree } from '../api/server.ts'
import { type SettingsServer, withSettings } from '../api/settings-tried/setting-server.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { eventually } from '../fixtures/eventually.ts'
import { profile } from '../fixtures/packages.ts'
import { CLAIM_PAIRS, PRIOR_AUTHORIZATION } from '../fixtures/payer/claims.ts'
import { archiveOf, guideOf } from '../fixtures/payer/guides.ts'
import { referenceTo } from '../fixtures/resources.ts'
import { memberClientOf } from './member-tokens.ts'

const STRICT = { prefer: 'handling=strict' }

const claims = CLAIM_PAIRS.map(([whole]) => whole as Tree)
const authorization: Tree = { ...PRIOR_AUTHORIZATION, patient: referenceTo('Patient/Patient1') }
const organization = (id: string): Tree => ({ resourceType: 'Organization', id, active: true, name: id })
const coverage = (id: string, patient: string): Tree => ({
  ...{ resourceType: 'Coverage', id, status: 'active', beneficiary: referenceTo(`Patient/${patient}`) },
  payor: [referenceTo('Organization/Payer2')],
})

const STORED: readonly Tree[] = [
  { resourceType: 'Patient', id: 'Patient1' },
  { resourceType: 'Patient', id: 'Patient2' },
  ...['Payer2', 'ProviderOrganization3', 'ProviderOrganization4'].map(organization),
  { resourceType: 'Practitioner', id: 'Practitioner2' },
  ...[coverage('Coverage1', 'Patient1'), coverage('Coverage2', 'Patient1'), coverage('Coverage3', 'Patient2')],
  ...claims,
  authorization,
  { resourceType: 'Device', id: 'device', patient: referenceTo('Patient/Patient1') },
  {
    ...{ resourceType: 'MedicationDispense', id: 'dispense', status: 'completed', subject: referenceTo('Patient/Patient1') },
    medicationCodeableConcept: { text: 'tablets' },
  },
  {
    ...{ resourceType: 'Provenance', id: 'origin', recorded: '2026-01-01T00:00:00Z', agent: [{ who: referenceTo('Organization/Payer2') }] },
    // It names the Patient too, because R4's compartment has only such.
    target: [
      referenceTo('Patient/Patient1'),
      referenceTo('ExplanationOfBenefit/EOBInpatient2'),
      referenceTo('MedicationDispense/dispense'),
    ],
  },
]

const US_CORE_COVERAGE = 'http://hl7.org/fhir/us/core/StructureDefinition/us-core-coverage'
const CARIN_URL = 'http://hl7.org/fhir/us/carin-bb/StructureDefinition/C4BB-Coverage'
/** Profile with one rule of C4BB-Coverage that US Core does not have. */
const CARIN_COVERAGE: Tree = {
  ...profile('C4BB-Coverage', '2.2.0', [{ id: 'Coverage.subscriberId', path: 'Coverage.subscriberId', min: 1 }]),
  ...{ url: CARIN_URL, type: 'Coverage', baseDefinition: 'http://hl7.org/fhir/StructureDefinition/Coverage' },
}

/** Returns `Type/id` of each entry, sorted, or the status if it is another than 200. */
async function foundBy(member: TestClient, query: string): Promise<readonly string[] | number> {
  const { status, body } = await member.get(`/${query}`, STRICT)
  return status === 200 ? (body.entry ?? []).map(({ resource }: Tree) => `${resource.resourceType}/${resource.id}`).toSorted() : status
}

/** Returns the data folder of a server that was closed, with the guides. So the next server has them from its start. */
async function folderWithGuides(): Promise<string> {
  const folder = newFolder()
  await withSettings({}, async () => {}, { folder })
  const packages = await openPackages(folder)
  try {
    await addPackage(packages, { file: await archiveOf(guideOf('carin-bb@2.2.0'), [CARIN_COVERAGE]) })
    await addPackage(packages, { file: await archiveOf(guideOf('davinci-pdex@2.2.0')) })
  } finally {
    await packages.close()
  }
  return folder
}

const withGuides = async (settings: Readonly<Record<string, string>>, proof: (server: SettingsServer) => Promise<void>): Promise<void> =>
  withSettings(settings, proof, { folder: await folderWithGuides() })

const withMember = (proof: (member: TestClient) => Promise<void>): Promise<void> =>
  withGuides({}, async (server) => {
    const entry = STORED.map((resource) => ({ resource, request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` } }))
    expect((await server.post('/', { resourceType: 'Bundle', type: 'transaction', entry })).status).toBe(200)
    await server.register('app', { scopes: ['patient/*.rs'] })
    const member = await memberClientOf(server, { id: 'app', patient: 'Patient1', scopes: ['patient/*.rs'] })
    for (const parameter of ['type', 'insurer', 'service-date', 'service-start-date', 'billable-period-start', 'use'])
      await eventually(() => member.get(`/ExplanationOfBenefit?${parameter}:missing=false`, STRICT), {
        until: ({ status }) => status === 200,
        every: 10,
        within: 60_000,
      })
    await proof(member)
  })

const eob = (...ids: readonly string[]): readonly string[] => ids.map((id) => `ExplanationOfBenefit/${id}`)

const INPATIENT = eob('EOBInpatient2')
const TRANSPORT = eob('EOBProfessionalTransportation1')
const OWN_CLAIMS = eob('EOBInpatient2', 'EOBOutpatient2', 'EOBProfessional2', 'EOBProfessionalTransportation1')
const AUTHORIZATION = eob('PDexPriorAuth1')
const INCLUDED: Readonly<Record<string, readonly string[]>> = {
  patient: ['Patient/Patient1'],
  provider: ['Organization/ProviderOrganization3'],
  'care-team': ['Practitioner/Practitioner2'],
  coverage: ['Coverage/Coverage2'],
  insurer: ['Organization/Payer2'],
  payee: ['Organization/ProviderOrganization4'],
}

const CLAIM_QUERIES: readonly (readonly [query: string, found: readonly string[]])[] = [
  ['_id=EOBInpatient2', INPATIENT],
  ['_id=EOBInpatient1', []],
  ['_lastUpdated=gt2020-01-01', [...OWN_CLAIMS, ...AUTHORIZATION]],
  ['_lastUpdated=lt2020-01-01', []],
  ['type=institutional', eob('EOBInpatient2', 'EOBOutpatient2', 'PDexPriorAuth1')],
  ['type=oral', []],
  ['identifier=https://www.example.com/fhir/EOBIdentifier|InpatientEOBExample1', INPATIENT],
  ['identifier=210300002', []],
  ['service-date=2022', TRANSPORT],
  ['service-date=2017-05', INPATIENT],
  ['service-start-date=2017-05-23', INPATIENT],
  ['service-start-date=2019', []],
  ['billable-period-start=ge2022', TRANSPORT],
  ['use=claim', OWN_CLAIMS],
  ['use=preauthorization', AUTHORIZATION],
  ['_profile=http://hl7.org/fhir/us/davinci-pdex/StructureDefinition/pdex-priorauthorization', AUTHORIZATION],
]

describe('the app of a member', () => {
  it('finds its claims and authorizations by each parameter, alone and with its patient', () =>
    withMember(async (member) => {
      for (const [query, found] of CLAIM_QUERIES)
        for (const asked of [query, `patient=Patient1&${query}`])
          expect([asked, await foundBy(member, `ExplanationOfBenefit?${asked}`)]).toEqual([asked, found.toSorted()])
      expect(await foundBy(member, 'ExplanationOfBenefit?patient=Patient/Patient1')).toEqual([...OWN_CLAIMS, ...AUTHORIZATION].toSorted())
      expect(await foundBy(member, 'ExplanationOfBenefit?patient=Patient/Patient2')).toEqual([])
    }))

  it('receives the resources that its claims and coverages refer to, and their Provenance', () =>
    withMember(async (member) => {
      const claim = 'ExplanationOfBenefit?_id=EOBInpatient2'
      for (const [parameter, included] of Object.entries(INCLUDED))
        expect([parameter, await foundBy(member, `${claim}&_include=ExplanationOfBenefit:${parameter}`)]).toEqual([
          parameter,
          [...INPATIENT, ...included].toSorted(),
        ])
      const all = [...INPATIENT, ...Object.values(INCLUDED).flat()]
      expect(await foundBy(member, `${claim}&_include=ExplanationOfBenefit:*`)).toEqual(all.toSorted())
      expect(await foundBy(member, `${claim}&_revinclude=Provenance:target`)).toEqual([...INPATIENT, 'Provenance/origin'])
      expect(await foundBy(member, 'MedicationDispense?patient=Patient1&_revinclude=Provenance:target')).toEqual([
        'MedicationDispense/dispense',
        'Provenance/origin',
      ])
      expect(await foundBy(member, 'Device?patient=Patient1')).toEqual(['Device/device'])
      const coverages = ['Coverage/Coverage1', 'Coverage/Coverage2', 'Organization/Payer2']
      expect(await foundBy(member, 'Coverage?patient=Patient1&_include=Coverage:payor')).toEqual(coverages)
    }))

  it('receives all of it by $everything, and nothing of others', () =>
    withMember(async (member) => {
      const found = await foundBy(member, 'Patient/Patient1/$everything')
      const own = ['Coverage/Coverage1', 'Coverage/Coverage2', 'Device/device', 'MedicationDispense/dispense', 'Provenance/origin']
      expect(found).toEqual(expect.arrayContaining(['Patient/Patient1', ...OWN_CLAIMS, ...AUTHORIZATION, ...own]))
      for (const other of ['Patient/Patient2', 'Coverage/Coverage3', ...eob('EOBInpatient1')]) expect(found).not.toContain(other)
    }))
})

describe('a Coverage that names a US Core and a CARIN profile', () => {
  const named: Tree = {
    ...coverage('both', 'Patient1'),
    meta: { profile: [US_CORE_COVERAGE, `${CARIN_URL}|2.2.0`] },
    identifier: [{ type: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v2-0203', code: 'MB' }] }, value: '1' }],
  }
  const relationship = { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/subscriber-relationship', code: 'self' }] }

  it.each<[what: string, fields: Tree, violated: readonly string[]]>([
    ['neither', {}, [CARIN_URL, US_CORE_COVERAGE]],
    ['US Core', { relationship }, [CARIN_URL]],
    ['CARIN', { subscriberId: '1' }, [US_CORE_COVERAGE]],
    ['both', { relationship, subscriberId: '1' }, []],
  ])('is checked against both if it conforms to %s', (_, fields, violated) =>
    withGuides({ FHIR_VALIDATE_PROFILES: 'enforce' }, async (server) => {
      const stored = { ...named, ...fields }
      const violatedIn = ({ issue = [] }: Tree): readonly string[] => {
        const errors = issue.filter(({ severity }: Tree) => severity === 'error').map((each: Tree) => JSON.stringify(each))
        return [CARIN_URL, US_CORE_COVERAGE].filter((url) => errors.some((error: string) => error.includes(url)))
      }
      const { body } = await server.post('/Coverage/$validate', stored)
      expect(violatedIn(body)).toEqual(violated)
      const written = await server.put('/Coverage/both', stored)
      expect([written.status, violatedIn(written.body)]).toEqual([violated.length === 0 ? 201 : 422, violated])
    }),
  )
})
