/** Another payer matches many members at once, at the embedded server. */
import { describe, expect, it } from '@jest/globals'
import type { TestClient, Tree } from '../api/server.ts'
import { type SettingsServer, withSettings } from '../api/settings-tried/setting-server.ts'
import { runFhir } from '../bin/process.ts'
import { eventually } from '../fixtures/eventually.ts'
import { memberClientOf } from './member-tokens.ts'
import {
  ANN,
  attestation,
  BERT,
  bulkInput,
  EXPORT_TYPE,
  expectRecordWithoutAmounts,
  matchInput,
  membersBundle,
  OTHER,
  OWN,
  onlyGroup,
  PAYER_SETTINGS,
  partnerOf,
  provisionFor,
} from './payer-exchange.ts'

const ASYNC = { accept: 'application/fhir+json', prefer: 'respond-async' }

const withPayer = (proof: (server: SettingsServer, partner: TestClient) => Promise<void>, more = {}): Promise<void> =>
  withSettings({ ...PAYER_SETTINGS, ...more }, async (server) => {
    expect((await server.post('/', membersBundle())).status).toBe(200)
    await proof(server, await partnerOf(server))
  })

/** Waits for the job, and returns its manifest. */
const manifestAt = async (partner: TestClient, job: string): Promise<Tree> =>
  (await eventually(() => partner.get(job), { until: ({ status }) => status !== 202, every: 20 })).body

async function bulkMatch(partner: TestClient, body: Tree, operation = '$bulk-member-match'): Promise<Tree> {
  const begun = await partner.post(`/Group/${operation}`, body, ASYNC)
  expect([begun.status, begun.text]).toEqual([202, ''])
  return manifestAt(partner, begun.headers.get('content-location')!)
}

async function linesOf(partner: TestClient, files: readonly Tree[]): Promise<readonly Tree[]> {
  const texts = await Promise.all(files.map(async ({ url }) => (await partner.get(url)).text))
  return texts.flatMap((text) => text.trim().split('\n')).map((line) => JSON.parse(line))
}

const codeOf = ({ code }: Tree): string => code.coding[0].code

/** Returns the references to the members of each Group, by its code. */
async function membersOf(partner: TestClient, { output }: Tree): Promise<Tree> {
  const groups = await linesOf(partner, output.slice(0, 1))
  return Object.fromEntries(groups.map((group) => [codeOf(group), (group.member ?? []).map(({ entity }: Tree) => entity.reference)]))
}

const PROVIDERS = '$provider-member-match'
const PURPOSES = 'http://hl7.org/fhir/us/davinci-pdex/CodeSystem/pdex-consent-api-purpose'

/** Returns a Consent by which the member denies that data goes to providers. */
const optOutOf = (patient: string): Tree => ({
  ...matchInput(BERT).parameter[2].resource,
  id: `opt-out-${patient}`,
  patient: { reference: `Patient/${patient}` },
  category: [{ coding: [{ system: PURPOSES, code: 'provider-access' }] }],
  provision: { type: 'deny' },
})

describe('a match of the members that a provider treats', () => {
  it('records the outcome of each member', () =>
    withPayer(async (server, partner) => {
      const stranger = { ...BERT, given: 'Bob' }
      const denial = { ...optOutOf('bert'), category: [{ text: 'all' }] }
      expect((await server.put('/Consent/opt-out-bert', denial)).status).toBe(201)
      const rejected = { member: BERT, consent: { status: 'rejected' } }
      await bulkMatch(partner, bulkInput([{ member: ANN }, { member: stranger }, rejected, { member: BERT }]))
      const { id } = await onlyGroup(partner)
      const consent = (await server.get('/Consent?patient=ann')).body.entry[0].resource.id
      const { out } = await runFhir('disclosures', '--job', id, '--json', '--data', server.folder)
      const records = out.trimEnd().split('\n').map((line) => JSON.parse(line)) // biome-ignore format: one line
      expect(
        records.map(({ kind, patient, outcome, grounds, rule = '' }) => [kind, patient, [outcome, rule].join(' ').trim(), grounds]),
      ).toEqual([
        ['match', 'Patient/ann', 'matched', [`Group/${id}`, `Consent/${consent}`]],
        ['match', undefined, 'no match', [`Group/${id}`]],
        ['match', undefined, 'consent not complied with status', [`Group/${id}`]],
        ['match', undefined, 'denied', [`Group/${id}`]],
      ])
    }))

  it('finds a member with 6 MB of data, and one beside it', () =>
    withPayer(async (_server, partner) => {
      const body = bulkInput([{ member: ANN }, { member: BERT }])
      const data = 'QUJD'.repeat(1_500_000)
      body.parameter[0].part[0].resource.photo = [{ contentType: 'image/png', data }]
      expect(await membersOf(partner, await bulkMatch(partner, body))).toEqual({ match: ['Patient/ann', 'Patient/bert'] })
      const [sent] = (await onlyGroup(partner)).contained
      expect(sent.photo[0].data).toBe(data)
    }))

  const withProvider = (proof: (server: SettingsServer, provider: TestClient) => Promise<void>, more = {}): Promise<void> =>
    withPayer(async (server) => proof(server, await partnerOf(server, 'provider')), more)

  it('finds the members that its attestations name, and no member with an opt-out', () =>
    withProvider(async (server, provider) => {
      expect((await server.put('/Consent/opt-out-bert', optOutOf('bert'))).status).toBe(201)
      const members = [ANN, BERT, { ...BERT, given: 'Bob' }].map((member) => ({ member, consent: attestation() }))
      const manifest = await bulkMatch(provider, bulkInput(members), PROVIDERS)
      expect(await membersOf(provider, manifest)).toEqual({ match: ['Patient/ann'], nomatch: ['#p1', '#p2'] })
      const group = await onlyGroup(provider)
      expect([group.meta.profile, group.managingEntity.identifier]).toEqual([
        ['http://hl7.org/fhir/us/davinci-pdex/StructureDefinition/pdex-provider-member-match'],
        OWN,
      ])
      const [{ period }] = group.member
      expect(Math.round((Date.parse(period.end) - Date.parse(group.meta.lastUpdated)) / 86_400_000)).toBe(30)
    }))

  it('does not find a member that denied in an app of its own', () =>
    withProvider(async (server, provider) => {
      await server.register('app', { scopes: ['patient/*.cruds'] })
      const app = await memberClientOf(server, { id: 'app', patient: 'bert', scopes: ['patient/Consent.cu'] })
      const found = async () =>
        membersOf(provider, await bulkMatch(provider, bulkInput([{ member: BERT, consent: attestation() }]), PROVIDERS))
      const denial = optOutOf('bert')
      const written = async (consent: Tree) => (await app.put(`/Consent/${consent.id}`, consent)).status
      expect([await written({ ...denial, provision: { type: 'permit' } }), await found()]).toEqual([201, { match: ['Patient/bert'] }])
      expect([await written(denial), await found()]).toEqual([200, { match: [], nomatch: ['#p0'] }])
      expect(await written(optOutOf('ann'))).toBe(403)
    }))

  it.each<[what: string, consent: Tree, expected: 'match' | 'nomatch']>([
    ['an NPI with a wrong check digit', { performer: [{ identifier: { ...OTHER, value: '1234567890' } }] }, 'nomatch'],
    ['an NPI of another provider', { performer: [{ identifier: OWN }] }, 'nomatch'],
    ['the organization of the provider', { performer: [{ identifier: OWN }], organization: [{ identifier: OTHER }] }, 'match'],
    ['an inactive attestation', { status: 'inactive' }, 'nomatch'],
    ['an attestation of the future', { dateTime: '2099-01-01' }, 'nomatch'],
    ['an attestation whose period ended', { provision: { type: 'permit', period: { end: '2025-01-01' } } }, 'nomatch'],
    ['an attestation that denies', { provision: { type: 'deny', period: { start: '2026-01-01' } } }, 'nomatch'],
  ])('judges %s', (_, consent, expected) =>
    withProvider(async (_server, provider) => {
      const manifest = await bulkMatch(provider, bulkInput([{ member: ANN, consent: attestation(consent) }]), PROVIDERS)
      const { match, nomatch = [] } = await membersOf(provider, manifest)
      expect([match.length, nomatch.length]).toEqual(expected === 'match' ? [1, 0] : [0, 1])
    }),
  )

  it('is for providers', () =>
    withPayer(async (_, payer) => {
      expect((await payer.post(`/Group/${PROVIDERS}`, bulkInput([{ member: ANN, consent: attestation() }]), ASYNC)).status).toBe(403)
    }))
})

describe('a match of many members', () => {
  it('gives the Groups of the members that were found, not found and constrained', () =>
    withPayer(async (server, partner) => {
      const stranger = { ...BERT, birthDate: '1981-02-04' }
      const body = bulkInput([
        { member: ANN },
        { member: stranger },
        { member: BERT, consent: { status: 'rejected' } },
        { member: { ...ANN, birthDate: '1974-12' } },
      ])
      const { output, error, ...manifest } = await bulkMatch(partner, body)
      expect([manifest.request, output.map(({ type, count }: Tree) => [type, count])]).toEqual([
        expect.stringContaining('/Group/$bulk-member-match'),
        [
          ['Group', 3],
          ['Parameters', 1],
        ],
      ])
      const groups = await linesOf(partner, output.slice(0, 1))
      expect(groups.map((group) => [codeOf(group), group.member.map(({ entity }: Tree) => entity.reference)])).toEqual([
        ['match', ['Patient/ann']],
        ['nomatch', ['#p1', '#p3']],
        ['consentconstraint', ['#p2']],
      ])
      const [parameters] = await linesOf(partner, output.slice(1))
      expect(parameters!.parameter).toEqual(
        ['MatchedMembers', 'NonMatchedMembers', 'ConsentConstrainedMembers'].map((name, i) => ({ name, resource: groups[i] })),
      )
      const [outcome] = await linesOf(partner, error)
      expect([outcome!.issue[0].code, outcome!.issue[0].expression]).toEqual(['required', ['MemberBundle[3].MemberPatient.birthDate']])
      for (const group of groups)
        expect((await server.post('/Group/$validate', group)).body.issue.filter(({ severity }: Tree) => severity === 'error')).toEqual([])
    }))

  it('stores the Group of the members that were found, which the payer exports, and no other', () =>
    withPayer(async (server, partner) => {
      await bulkMatch(partner, bulkInput([{ member: ANN }, { member: { ...BERT, given: 'Bob' } }]))
      const { id } = await onlyGroup(partner)
      expect([(await server.get('/Group')).body.total, (await server.get('/Consent')).body.total]).toEqual([1, 1])
      const begun = await partner.get(`/Group/${id}/$davinci-data-export?exportType=${encodeURIComponent(EXPORT_TYPE)}`, ASYNC)
      const { output } = await manifestAt(partner, begun.headers.get('content-location')!)
      expectRecordWithoutAmounts(await linesOf(partner, output))
    }))

  it('stores an empty Group if no member was found', () =>
    withPayer(async (server, partner) => {
      const { output } = await bulkMatch(partner, bulkInput([{ member: ANN, consent: { provision: provisionFor(OWN) } }]))
      const groups = await linesOf(partner, output.slice(0, 1))
      expect(groups.map((group) => [codeOf(group), group.quantity])).toEqual([
        ['match', 0],
        ['consentconstraint', 1],
      ])
      expect([(await onlyGroup(partner)).member, (await server.get('/Consent')).body.total]).toEqual([undefined, 0])
    }))

  it('needs Prefer: respond-async, and a payer', () =>
    withPayer(async (server, partner) => {
      const body = bulkInput([{ member: ANN }])
      const statusOf = async (client: TestClient, headers = ASYNC) => (await client.post('/Group/$bulk-member-match', body, headers)).status
      expect(await statusOf(partner, { accept: 'application/fhir+json', prefer: 'return=minimal' })).toBe(400)
      expect(await statusOf(await partnerOf(server, 'provider'))).toBe(403)
      expect(await statusOf(server)).toBe(202)
      expect((await partner.post('/Patient/$bulk-member-match', body, ASYNC)).status).toBe(404)
    }))
})
