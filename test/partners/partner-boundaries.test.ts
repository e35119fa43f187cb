/** A partner gets no data beyond that of the members that it matched. */
import { describe, expect, it } from '@jest/globals'
import type { TestClient, Tree } from '../api/server.ts'
import { type SettingsServer, withSettings } from '../api/settings-tried/setting-server.ts'
import { runFhir } from '../bin/process.ts'
import { eventually } from '../fixtures/eventually.ts'
import {
  ANN,
  BERT,
  byType,
  coverageOf,
  exportResultOf,
  match,
  matchInput,
  membersBundle,
  OTHER,
  onlyGroup,
  PAYER_SETTINGS,
  partnerOf,
  partnerTokenOf,
  provisionFor,
} from './payer-exchange.ts'

const ASYNC = { accept: 'application/fhir+json', prefer: 'respond-async' }

type Exchange = { readonly server: SettingsServer; readonly partner: TestClient; readonly group: Tree }

/** Runs `proof` after the partner has matched the first member. */
const withMatch = (proof: (exchange: Exchange) => Promise<void>, settings: Readonly<Record<string, string>> = {}): Promise<void> =>
  withSettings({ ...PAYER_SETTINGS, ...settings }, async (server) => {
    expect((await server.post('/', membersBundle())).status).toBe(200)
    const partner = await partnerOf(server)
    expect((await match(partner, ANN)).status).toBe(200)
    await proof({ server, partner, group: await onlyGroup(partner) })
  })

const begin = ({ partner, group }: Exchange, query = '') => partner.get(`/Group/${group.id}/$davinci-data-export${query}`, ASYNC)

const runExport = async (exchange: Exchange, query = '') => exportResultOf(exchange.partner, await begin(exchange, query))

/** Returns the ids of the exported resources by type. */
const exportedBy = async (exchange: Exchange, query = '') => byType((await runExport(exchange, query)).lines)

const ann = { reference: 'Patient/ann' }
const bert = { reference: 'Patient/bert' }

const put = async (server: TestClient, resource: Tree): Promise<void> =>
  expect((await server.put(`/${resource.resourceType}/${resource.id}`, resource)).status).toBeLessThan(300)

const observation = (id: string, more: Tree): Tree => ({ resourceType: 'Observation', id, status: 'final', code: { text: 'x' }, ...more })

describe('a partner', () => {
  it('sees only its own Groups if another id differs in case', () =>
    withMatch(async ({ server, partner, group }) => {
      const another = await partnerOf(server, 'payer', 'Payer')
      expect([(await another.get('/Group')).body.total, (await another.get(`/Group/${group.id}`)).status]).toEqual([0, 404])
      expect((await match(another, BERT)).status).toBe(200)
      expect([(await onlyGroup(another)).id, (await onlyGroup(partner)).id]).toEqual([expect.not.stringMatching(group.id), group.id])
    }))

  it('learns why a request is rejected although its scopes suffice', () =>
    withMatch(async (exchange) => {
      const { partner } = exchange
      const textOf = async (sent: ReturnType<TestClient['get']>): Promise<readonly unknown[]> => {
        const { status, body } = await sent
        return [status, body.issue?.[0].details.text]
      }
      expect(await textOf(partner.get('/Patient/ann'))).toEqual([403, 'A partner reads Patient only with a token for one member'])
      expect(await textOf(partner.get('/Organization'))).toEqual([403, 'A partner reads Organization only with a token for one member'])
      expect(await textOf(partner.get('/Claim'))).toEqual([403, 'A partner cannot read Claim'])
      expect(await textOf(partner.put('/Patient/ann', { resourceType: 'Patient', id: 'ann' }))).toEqual([403, 'A partner cannot write'])
      const { access_token } = await partnerTokenOf(exchange.server, 'system/Group.rs?_id=g', 'payer', 'narrow')
      const needed = 'This needs a scope for Group.s, such as system/Group.s'
      expect(await textOf(exchange.server.as(access_token).get('/Group'))).toEqual([403, needed])
      expect(await textOf(begin(exchange, `?_typeFilter=${encodeURIComponent('Observation?subject:Patient.name=a')}`))).toEqual([
        403,
        '_typeFilter cannot search Patient in this export. Its chains lead only to Practitioner, PractitionerRole, Organization, Location, Medication',
      ])
    }))

  it('exports only members of its Group and data about them', () =>
    withMatch(async (exchange) => {
      const { server } = exchange
      await put(server, observation('with-bert', { subject: ann, performer: [bert], focus: [bert] }))
      await put(server, observation('of-bert', { subject: bert, performer: [ann] }))
      await put(server, { ...coverageOf('W-0009', 'Patient/bert'), id: 'of-bert', subscriber: ann })
      for (const [id, target] of [
        ['of-ann', [ann]],
        ['of-both', [ann, bert]],
        ['of-data-and-bert', [{ reference: 'Observation/weight-ann' }, bert]],
      ] as const)
        await put(server, { resourceType: 'Provenance', id, target, recorded: '2026-01-01T00:00:00Z', agent: [{ who: { display: 'x' } }] })
      const { Patient, Observation, Coverage, Provenance } = await exportedBy(exchange)
      expect([Patient, Observation, Coverage]).toEqual([['ann'], ['weight-ann', 'with-bert'], ['coverage-ann']])
      expect(Provenance!.filter((id) => id.startsWith('of-'))).toEqual(['of-ann'])
    }))

  it('gets Groups with its mark from the server only', () =>
    withMatch(async ({ server, partner, group }) => {
      const secret = await server.register('app', { scopes: ['system/Group.cruds'] })
      const { body } = await server.token({ grant_type: 'client_credentials', client_id: 'app', client_secret: secret })
      const app = server.as(body.access_token)
      const member = [{ entity: bert }]
      const { contained: _, ...forged } = { ...group, id: 'forged', member }
      const statuses = [
        await app.put('/Group/forged', forged),
        await app.put(`/Group/${group.id}`, { ...forged, id: group.id, identifier: undefined }),
        await app.delete(`/Group/${group.id}`),
        await app.put('/Group/other', { ...forged, id: 'other', identifier: undefined }),
      ].map(({ status }) => status)
      expect([statuses, (await onlyGroup(partner)).meta.versionId]).toEqual([[403, 403, 403, 201], '1'])
    }))

  it('exports no member that denied since the match, and names it', () =>
    withMatch(async (exchange) => {
      const { server } = exchange
      const { resource } = matchInput(ANN).parameter[2]
      await put(server, { ...resource, id: 'denial', patient: ann, provision: { type: 'deny' } })
      expect(await runExport(exchange)).toEqual({ lines: [], messages: ['Patient/ann is not exported'] })
    }))

  it('exports no data of a member with a deleted Patient, and names it', () =>
    withMatch(
      async (exchange) => {
        const { server } = exchange
        expect((await server.delete('/Patient/ann')).status).toBe(204)
        expect(await runExport(exchange)).toEqual({ lines: [], messages: ['Patient/ann is not exported'] })
        const { out } = await runFhir('disclosures', '--partner', 'payer', '--json', '--data', server.folder)
        const records = out.trimEnd().split('\n').map((line) => JSON.parse(line)) // biome-ignore format: one line
        const exports = records.filter(({ kind }) => kind === 'export')
        expect(exports.map(({ patient, outcome }) => [patient, outcome])).toEqual([['Patient/ann', 'no-patient']])
      },
      { FHIR_REFERENTIAL_INTEGRITY: 'off' },
    ))

  it('exports no Group past its period', () =>
    withMatch(async ({ server, partner, group }) => {
      const [characteristic] = group.characteristic
      await put(server, { ...group, characteristic: [{ ...characteristic, period: { start: '2026-01-01', end: '2026-01-02' } }] })
      const path = (id: string) => `/Group/${id}/$davinci-data-export`
      const [past, missing] = [await partner.get(path(group.id), ASYNC), await partner.get(path('missing'), ASYNC)]
      expect([past.status, past.body.issue[0].code]).toEqual([404, missing.body.issue[0].code])
    }))

  it.each([
    ['inactive', { status: 'inactive' }],
    ['ended', { provision: { ...provisionFor(OTHER), period: { end: '2026-01-02' } } }],
  ])('matches no member by an earlier Consent that is %s', (_, change) =>
    withMatch(async ({ server, partner }) => {
      const { resource } = (await server.get('/Consent?patient=ann')).body.entry[0]
      await put(server, { ...resource, ...change })
      const [revoked, stranger] = [await match(partner, ANN), await match(partner, { ...ANN, given: 'Bob' })]
      expect([revoked.status, revoked.body]).toEqual([422, stranger.body])
      await onlyGroup(partner)
    }),
  )

  it.each([
    ['Patient?_has:Claim:patient:status=active', 403],
    ['Patient?_has:Consent:patient:status=active', 403],
    ['Patient?_has:Group:member:code=x', 403],
    ['ExplanationOfBenefit?claim:Claim.status=active', 403],
    ['ExplanationOfBenefit?total-amount=gt100', 403],
    ['Patient?_has:ExplanationOfBenefit:patient:total-amount=gt100', 403],
    ['ExplanationOfBenefit?_profile=http://example.org/a', 403],
    ['Patient?_has:Observation:subject:code:text=x', 403],
    ['Observation?performer:Patient.family=x', 403],
    ['Observation?performer:PractitionerRole.practitioner.family=x', 202],
    ['Provenance?target=Observation/a', 403],
    ['Provenance?entity=Observation/a', 403],
    ['Provenance?patient=Patient/ann', 202],
    ['Provenance?patient.name=x', 403],
    ['Patient?_has:Provenance:patient:recorded=gt2020', 403],
    ['Provenance?recorded=gt2020', 202],
    ['ExplanationOfBenefit?status=active', 202],
    ['ExplanationOfBenefit?outcome=partial', 202],
  ])('filters an export by shown types and elements only: %s', (filter, status) =>
    withMatch(async (exchange) => {
      await put(exchange.server, {
        ...{ resourceType: 'SearchParameter', id: 'total-amount', url: 'http://example.org/total-amount', name: 'TotalAmount' },
        ...{ status: 'active', description: 'x', code: 'total-amount', base: ['ExplanationOfBenefit'], type: 'number' },
        expression: 'ExplanationOfBenefit.total.amount.value',
      })
      await put(exchange.server, {
        ...{ resourceType: 'SearchParameter', id: 'outcome', url: 'http://example.org/outcome', name: 'Outcome' },
        ...{ status: 'active', description: 'x', code: 'outcome', base: ['ExplanationOfBenefit'], type: 'token' },
        expression: 'ExplanationOfBenefit.outcome',
      })
      for (const query of ['total-amount=gt1', 'outcome=partial']) {
        const search = () => exchange.server.get(`/ExplanationOfBenefit?${query}`, { prefer: 'handling=strict' })
        // Until a parameter is built, it counts as unknown.
        const { body } = await eventually(search, { until: ({ status }) => status === 200, every: 20 })
        expect(body.total).toBeGreaterThan(0)
      }
      const begun = await begin(
        exchange,
        `?_type=Patient,Observation,ExplanationOfBenefit,Provenance&_typeFilter=${encodeURIComponent(filter)}`,
      )
      expect([begun.status, begun.text.includes('total-amount')]).toEqual([status, filter.includes('total-amount')])
    }),
  )
})
