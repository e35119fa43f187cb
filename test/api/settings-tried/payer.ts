/** Settings of matches of members. */
import { join } from 'node:path'
import { expect } from '@jest/globals'
import { FilesystemBlobStore } from '../../../lambdas/adapters/filesystem/blob-store.ts'
import { readDisclosures, writeDisclosures } from '../../../lambdas/partners/disclosures/disclosures.ts'
import { makeStore } from '../../../lambdas/runtime/control/lost-files.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { collect } from '../../fixtures/collect.ts'
import { eventually } from '../../fixtures/eventually.ts'
import {
  ANN,
  attestation,
  BERT,
  bulkInput,
  byType,
  exportResultOf,
  match,
  matchInput,
  membersBundle,
  OTHER,
  onlyGroup,
  PAYER_SETTINGS,
  partnerOf,
} from '../../partners/payer-exchange.ts'
import type { TestClient, Tree } from '../server.ts'
import { type SettingTrial, withSettings } from './setting-server.ts'

/** Status of a match of a member who consented. */
const matchTrial =
  (variable: keyof typeof PAYER_SETTINGS, expected: number) =>
  (value: string): Promise<void> =>
    withSettings({ ...PAYER_SETTINGS, [variable]: value }, async (server) => {
      expect((await server.post('/', membersBundle())).status).toBe(200)
      expect((await match(await partnerOf(server), ANN)).status).toBe(expected)
    })

const ASYNC = { accept: 'application/fhir+json', prefer: 'respond-async' }
const SUD = { system: 'http://terminology.hl7.org/CodeSystem/v3-ActCode', code: 'SUD' }

/** Returns a trial that a partner exports these observations of a member, beside the one that has no date. */
function exportTrial(variable: string, kind: 'payer' | 'provider', expected: readonly string[]): (value: string) => Promise<void> {
  const windows = variable === 'FHIR_SENSITIVE_LABELS' ? { FHIR_PAYER_WINDOW_YEARS: '100' } : {}
  return (value) =>
    withSettings({ ...PAYER_SETTINGS, ...windows, [variable]: value }, async (server) => {
      expect((await server.post('/', membersBundle())).status).toBe(200)
      const subject = { reference: 'Patient/ann' }
      const observation = { resourceType: 'Observation', status: 'final', code: { text: 'x' }, subject, effectiveDateTime: '2099-01-01' }
      for (const each of [
        { ...observation, id: 'old', effectiveDateTime: '2000-06-01' },
        { ...observation, id: 'new' },
        { ...observation, id: 'labelled', meta: { security: [SUD] } },
        { resourceType: 'Group', id: 'panel', type: 'person', actual: true, identifier: [OTHER], member: [{ entity: subject }] },
      ])
        expect((await server.put(`/${each.resourceType}/${each.id}`, each)).status).toBe(201)
      const partner = await partnerOf(server, kind)
      const group = kind === 'payer' ? await matchedGroup(partner) : 'panel'
      const { lines } = await exportResultOf(partner, await partner.get(`/Group/${group}/$davinci-data-export`, ASYNC))
      expect(
        byType(lines)
          .Observation?.filter((id) => id !== 'weight-ann')
          .toSorted(),
      ).toEqual(expected.toSorted())
    })
}

/** Returns the id of the Group of a match. */
async function matchedGroup(partner: TestClient): Promise<string> {
  expect((await match(partner, ANN)).status).toBe(200)
  const { body } = await partner.get('/Group?code=match')
  return body.entry[0].resource.id
}

export const payerTrials: readonly SettingTrial[] = [
  [PAYER_SETTINGS.FHIR_PAYER, 'a member whose Consent names the payer is matched', matchTrial('FHIR_PAYER', 200)],
  ['urn:oid:2.16.840.1.113883.6.300|1', 'a Consent that names another payer permits nothing', matchTrial('FHIR_PAYER', 422)],
  ['', 'no Consent permits anything', matchTrial('FHIR_PAYER', 422)],
]

export const labelTrials: readonly SettingTrial[] = [
  ['unknown', 'a Consent without sensitive data permits nothing', matchTrial('FHIR_SENSITIVE_LABELS', 422)],
  ['none', 'a Consent without sensitive data permits all', matchTrial('FHIR_SENSITIVE_LABELS', 200)],
  [
    'http://terminology.hl7.org/CodeSystem/v3-ActCode|SUD',
    'a Consent without sensitive data permits all without the label',
    exportTrial('FHIR_SENSITIVE_LABELS', 'payer', ['old', 'new']),
  ],
]

export const payerWindowTrials: readonly SettingTrial[] = [
  ['5', 'a payer gets no older resource', exportTrial('FHIR_PAYER_WINDOW_YEARS', 'payer', ['labelled', 'new'])],
  ['100', 'a payer gets an older resource', exportTrial('FHIR_PAYER_WINDOW_YEARS', 'payer', ['labelled', 'new', 'old'])],
]

export const providerWindowTrials: readonly SettingTrial[] = [
  ['2016-01-01', 'a provider gets no older resource', exportTrial('FHIR_PROVIDER_SINCE', 'provider', ['labelled', 'new'])],
  ['1999-12-31', 'a provider gets an older resource', exportTrial('FHIR_PROVIDER_SINCE', 'provider', ['labelled', 'new', 'old'])],
]

/** Status of a match of two members. */
const bulkTrial =
  (expected: number) =>
  (value: string): Promise<void> =>
    withSettings({ ...PAYER_SETTINGS, FHIR_MAX_MATCH_MEMBERS: value }, async (server) => {
      const partner = await partnerOf(server)
      const headers = { accept: 'application/fhir+json', prefer: 'respond-async' }
      const { status } = await partner.post('/Group/$bulk-member-match', bulkInput([{ member: ANN }, { member: BERT }]), headers)
      expect(status).toBe(expected)
    })

export const memberTrials: readonly SettingTrial[] = [
  ['2', 'two members are matched', bulkTrial(202)],
  ['1', 'two members are too many', bulkTrial(413)],
]

/** Days for which a member stays in the Group of a payer. */
const payerDaysTrial = (value: string): Promise<void> =>
  withSettings({ ...PAYER_SETTINGS, FHIR_PAYER_GROUP_DAYS: value }, async (server) => {
    expect((await server.post('/', membersBundle())).status).toBe(200)
    const partner = await partnerOf(server)
    const before = Date.now()
    expect((await match(partner, ANN)).status).toBe(200)
    const days = (Date.parse((await onlyGroup(partner)).member[0].period.end) - before) / 86_400_000
    expect(Math.floor(days)).toBe(Number(value))
  })

export const payerDaysTrials: readonly SettingTrial[] = [
  ['1', 'a member stays in the Group for a day', payerDaysTrial],
  ['366', 'a member stays in the Group for 366 days', payerDaysTrial],
]

/** Matches a member that a provider treats, and returns the Group of the found members. */
async function providerGroup(settings: Readonly<Record<string, string>>, stored: readonly Tree[] = []): Promise<Tree> {
  let group: Tree = {}
  await withSettings({ ...PAYER_SETTINGS, ...settings }, async (server) => {
    expect((await server.post('/', membersBundle())).status).toBe(200)
    for (const resource of stored) expect((await server.put(`/${resource.resourceType}/${resource.id}`, resource)).status).toBe(201)
    const provider = await partnerOf(server, 'provider')
    const headers = { accept: 'application/fhir+json', prefer: 'respond-async' }
    const body = bulkInput([{ member: ANN, consent: attestation() }])
    const begun = await provider.post('/Group/$provider-member-match', body, headers)
    const job = begun.headers.get('content-location')!
    await eventually(() => provider.get(job), { until: ({ status }) => status !== 202, every: 20 })
    group = await onlyGroup(provider)
  })
  return group
}

async function providerDaysTrial(value: string): Promise<void> {
  const { member, meta } = await providerGroup({ FHIR_PROVIDER_GROUP_DAYS: value })
  expect(Math.round((Date.parse(member[0].period.end) - Date.parse(meta.lastUpdated)) / 86_400_000)).toBe(Number(value))
}

export const providerDaysTrials: readonly SettingTrial[] = [
  ['1', 'a member stays in the Group of a provider for a day', providerDaysTrial],
  ['30', 'a member stays in the Group of a provider for 30 days', providerDaysTrial],
]

const PDEX = 'http://hl7.org/fhir/us/davinci-pdex'
/** A practitioner of the directory, and the Group by which the payer lists that the practitioner treats the member. */
const TREATMENT: readonly Tree[] = [
  { resourceType: 'Practitioner', id: 'doctor', active: true, identifier: [OTHER] },
  { resourceType: 'PractitionerRole', id: 'role', active: true, practitioner: { reference: 'Practitioner/doctor' } },
  {
    ...{ resourceType: 'Group', id: 'treated', active: true, type: 'practitioner', actual: true },
    meta: { profile: [`${PDEX}/StructureDefinition/pdex-treatment-relationship`] },
    characteristic: [{ code: { text: 'member' }, valueReference: { reference: 'Patient/ann' }, exclude: false }],
    member: [{ entity: { reference: 'Practitioner/doctor' } }],
  },
]

/** Number of members that are matched without and with the Group of the payer. */
const treatmentTrial =
  (...members: readonly [attested: number, listed: number]) =>
  async (value: string): Promise<void> => {
    const quantities: number[] = []
    for (const stored of [[], TREATMENT]) quantities.push((await providerGroup({ FHIR_TREATMENT: value }, stored)).quantity)
    expect(quantities).toEqual(members)
  }

export const treatmentTrials: readonly SettingTrial[] = [
  ['attested', 'an attestation is enough', treatmentTrial(1, 1)],
  ['listed', 'a Group of the payer must list the member', treatmentTrial(0, 1)],
]

/** Response to a match of a member who denied. */
const optOutTrial =
  (code: string) =>
  (value: string): Promise<void> =>
    withSettings({ ...PAYER_SETTINGS, FHIR_REPORT_OPT_OUT: value }, async (server) => {
      expect((await server.post('/', membersBundle())).status).toBe(200)
      const denial = {
        ...matchInput(ANN).parameter[2].resource,
        id: 'denial',
        patient: { reference: 'Patient/ann' },
        provision: { type: 'deny' },
      }
      expect((await server.put('/Consent/denial', denial)).status).toBe(201)
      const { status, body } = await match(await partnerOf(server), ANN)
      expect([status, body.issue[0].code]).toEqual([422, code])
    })

export const optOutTrials: readonly SettingTrial[] = [
  ['off', 'a member who denied is answered like a stranger', optOutTrial('not-found')],
  ['on', 'a member who denied is constrained', optOutTrial('business-rule')],
]

const YEAR = 366 * 24 * 60 * 60 * 1_000

/** Years for which records of disclosures remain after a start, of records of so many years ago. */
const disclosureTrial = (years: readonly number[], remaining: readonly number[]) => async (value: string) => {
  const folder = newFolder()
  await makeStore(folder)
  const records = new FilesystemBlobStore(join(folder, 'disclosures'))
  for (const age of years) {
    const request = {
      kind: 'match',
      tenant: 'default',
      partner: 'payer',
      grounds: [],
      at: Date.now() - age * YEAR,
      job: `job-${age}`,
    } as const
    await writeDisclosures(records, request, [{ outcome: 'no match' }])
  }
  const jobs = async () => (await collect(readDisclosures(records, {}))).map(({ job }) => job).toSorted()
  await withSettings(
    { FHIR_DISCLOSURE_YEARS: value },
    async () => void (await eventually(jobs, { until: (found) => found.length <= remaining.length })),
    { folder },
  )
  expect(await jobs()).toEqual(remaining.map((age) => `job-${age}`))
}

export const disclosureTrials: readonly SettingTrial[] = [
  ['1', 'records of two years ago are removed', disclosureTrial([0, 2], [0])],
  ['6', 'records of five years ago are retained, those of seven are removed', disclosureTrial([5, 7], [5])],
]
