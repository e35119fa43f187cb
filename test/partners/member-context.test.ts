/** Tokens of partners with one member in context: conditions of the token, and the data that it opens. */
import { describe, expect, it } from '@jest/globals'
import type { TestClient, Tree } from '../api/server.ts'
import { type SettingsServer, withSettings } from '../api/settings-tried/setting-server.ts'
import { runFhir } from '../bin/process.ts'
import {
  ANN,
  attestation,
  BERT,
  bulkInput,
  expectRecordWithoutAmounts,
  exportResultOf,
  match,
  matchInput,
  membersBundle,
  type NamedMember,
  OTHER,
  onlyGroup,
  PAYER_SETTINGS,
  partnerTokens,
  provisionFor,
} from './payer-exchange.ts'

const SCOPE = 'system/*.rs'
const ASYNC = { accept: 'application/fhir+json', prefer: 'respond-async' }
const UMB = 'http://example.org/members|member-ann'
const ann = { reference: 'Patient/ann' }

type Exchange = {
  readonly server: SettingsServer
  readonly partner: TestClient
  readonly tokenFor: (member: NamedMember) => Promise<Tree>
}

/** Runs `proof` after the payer has matched the first member. */
const withMatch = (proof: (exchange: Exchange) => Promise<void>, settings: Readonly<Record<string, string>> = {}): Promise<void> =>
  withSettings({ ...PAYER_SETTINGS, ...settings }, async (server) => {
    expect((await server.post('/', membersBundle())).status).toBe(200)
    const tokens = await partnerTokens(server)
    const partner = server.as((await tokens(SCOPE)).access_token)
    expect((await match(partner, ANN)).status).toBe(200)
    await proof({ server, partner, tokenFor: (member) => tokens(SCOPE, member) })
  })

const put = async (server: TestClient, resource: Tree): Promise<void> =>
  expect((await server.put(`/${resource.resourceType}/${resource.id}`, resource)).status).toBeLessThan(300)

/** Response for a stranger, which all members without access share. */
const NO_ACCESS = { error: 'invalid_grant', error_description: 'The client has no access to this member' }

const errorOf = ({ error, error_description }: Tree) => ({ error, error_description })

describe('a partner gets a token for a member that it matched', () => {
  it('named by id or identifier, in sub of its assertion or in patient', () =>
    withMatch(async ({ server, tokenFor }) => {
      const names: readonly NamedMember[] = [
        ...[{ sub: 'Patient/ann' }, { sub: UMB }, { patient: 'Patient/ann' }, { patient: 'ann' }, { patient: UMB }],
        { sub: 'Patient/ann', patient: 'ann' },
      ]
      for (const named of names) {
        const { access_token, expires_in, patient, scope } = await tokenFor(named)
        expect([named, patient, expires_in, scope]).toEqual([named, 'ann', 300, SCOPE])
        const member = server.as(access_token)
        expect((await member.get('/Patient/ann')).status).toBe(200)
        expect((await member.get('/ExplanationOfBenefit')).body.total).toBe(1)
        expect((await member.get('/Patient/bert')).status).toBe(404)
      }
    }))

  it('with which it matches and exports as without a member', () =>
    withMatch(async ({ server, tokenFor }) => {
      const member = server.as((await tokenFor({ sub: 'Patient/ann' })).access_token)
      const group = await onlyGroup(member)
      const { lines } = await exportResultOf(member, await member.get(`/Group/${group.id}/$davinci-data-export`, ASYNC))
      expectRecordWithoutAmounts(lines)
      expect((await match(member, BERT)).status).toBe(200)
      expect((await member.get('/Patient/bert')).status).toBe(404)
      expect((await member.get('/Patient/$export', ASYNC)).status).toBe(403)
    }))

  it('which expires with the Consent', () =>
    withMatch(async ({ server, tokenFor }) => {
      const { resource } = (await server.get('/Consent?patient=ann')).body.entry[0]
      const end = new Date(Date.now() + 60_000).toISOString()
      await put(server, { ...resource, provision: { ...provisionFor(OTHER), period: { start: '2026-01-01', end } } })
      const { expires_in } = await tokenFor({ patient: 'ann' })
      expect([expires_in > 0, expires_in <= 60]).toEqual([true, true])
    }))

  it('which leaves a record of the member, its Group and the time window', () =>
    withMatch(async ({ server, partner, tokenFor }) => {
      const { id } = await onlyGroup(partner)
      for (const patient of ['ann', 'bert']) await tokenFor({ patient })
      const { out } = await runFhir('disclosures', '--partner', 'payer', '--json', '--data', server.folder)
      const records = out.trimEnd().split('\n').map((line) => JSON.parse(line)) // biome-ignore format: one line
      const [token, ...others] = records.filter(({ kind }) => kind === 'token')
      expect(token).toMatchObject({ patient: 'Patient/ann', outcome: 'opened', grounds: [`Group/${id}`] })
      expect([Number(token.at.slice(0, 4)) - Number(token.windowStart.slice(0, 4)), others]).toEqual([5, []])
      const { out: usage } = await runFhir('usage', '--year', token.at.slice(0, 4), '--json', '--data', server.folder)
      expect(JSON.parse(usage).partners).toEqual([{ partner: 'payer', requests: 1, matched: 1, exported: 0 }])
    }))

  it('after the payer wrote a Group for it', () =>
    withSettings(PAYER_SETTINGS, async (server) => {
      expect((await server.post('/', membersBundle())).status).toBe(200)
      const tokens = await partnerTokens(server, 'provider')
      const group = { resourceType: 'Group', id: 'panel', type: 'person', actual: true, identifier: [OTHER], member: [{ entity: ann }] }
      await put(server, group)
      expect((await tokens(SCOPE, { patient: 'ann' })).patient).toBe('ann')
      await put(server, { ...group, member: [{ entity: ann, inactive: true }] })
      expect(errorOf(await tokens(SCOPE, { patient: 'ann' }))).toEqual(NO_ACCESS)
    }))

  it('while its attestation is in force, or the payer lists the member', () =>
    withSettings(PAYER_SETTINGS, async (server) => {
      expect((await server.post('/', membersBundle())).status).toBe(200)
      const tokens = await partnerTokens(server, 'provider')
      const provider = server.as((await tokens(SCOPE)).access_token)
      const input = bulkInput([{ member: ANN, consent: attestation() }])
      const kickOff = await provider.post('/Group/$provider-member-match', input, ASYNC)
      await exportResultOf(provider, kickOff)
      expect((await tokens(SCOPE, { patient: 'ann' })).patient).toBe('ann')
      const { resource } = (await server.get('/Consent?patient=ann')).body.entry[0]
      await put(server, { ...resource, status: 'inactive' })
      expect(errorOf(await tokens(SCOPE, { patient: 'ann' }))).toEqual(NO_ACCESS)
      await put(server, {
        resourceType: 'Group',
        id: 'panel',
        type: 'person',
        actual: true,
        identifier: [OTHER],
        member: [{ entity: ann }],
      })
      expect((await tokens(SCOPE, { patient: 'ann' })).patient).toBe('ann')
    }))

  it('if one of several Groups is in force', () =>
    withMatch(async ({ server, partner, tokenFor }) => {
      const group = await onlyGroup(partner)
      expect((await match(partner, ANN)).status).toBe(200)
      await put(server, { ...group, active: false })
      expect((await tokenFor({ patient: 'ann' })).patient).toBe('ann')
    }))
})

describe('a partner gets the same error as for a stranger', () => {
  it('for strangers, other members and malformed names', () =>
    withMatch(async ({ tokenFor }) => {
      const names: readonly NamedMember[] = [
        ...['Patient/stranger', 'Patient/bert', 'Patient/', 'Patient/a/b', '|', 'a|b|c'].map((sub) => ({ sub })),
        ...['bert', 'nobody', 'ann|x', 'ann|'].map((value) => ({ sub: `http://example.org/members|member-${value}` })),
        ...['stranger', 'bert', 'Practitioner/ann', '_', 'http://example.org/members|member-bert'].map((patient) => ({ patient })),
      ]
      for (const named of names) expect([named, errorOf(await tokenFor(named))]).toEqual([named, NO_ACCESS])
      // A parameter without a value counts as absent: https://www.rfc-editor.org/rfc/rfc6749#section-3.2
      expect((await tokenFor({ patient: '' })).patient).toBeUndefined()
    }))

  const { resource: consent } = matchInput(ANN).parameter[2]
  const denial = { ...consent, id: 'denial', patient: ann, provision: { type: 'deny' } }
  const optOut = {
    ...{ resourceType: 'Group', id: 'opt-out', type: 'person', actual: true, member: [{ entity: ann }] },
    meta: { profile: ['http://hl7.org/fhir/us/davinci-pdex/StructureDefinition/pdex-member-opt-out'] },
    characteristic: [
      {
        code: { text: 'opt-out' },
        valueCodeableConcept: { coding: [{ system: 'http://hl7.org/fhir/us/davinci-pdex/CodeSystem/opt-out-scope', code: 'global' }] },
        exclude: false,
      },
    ],
  }
  it.each<[what: string, change: (exchange: Exchange) => Promise<void>]>([
    ['a denial', ({ server }) => put(server, denial)],
    ['an opt-out', ({ server }) => put(server, optOut)],
    [
      'an ended Consent',
      async ({ server }) => {
        const { resource } = (await server.get('/Consent?patient=ann')).body.entry[0]
        await put(server, { ...resource, provision: { ...provisionFor(OTHER), period: { end: '2026-01-02' } } })
      },
    ],
    [
      'a Group past its period',
      async ({ server, partner }) => {
        const group = await onlyGroup(partner)
        const [characteristic] = group.characteristic
        await put(server, { ...group, characteristic: [{ ...characteristic, period: { start: '2026-01-01', end: '2026-01-02' } }] })
      },
    ],
    [
      'a membership past its period',
      async ({ server, partner }) => {
        const group = await onlyGroup(partner)
        await put(server, { ...group, member: [{ ...group.member[0], period: { start: '2026-01-01', end: '2026-01-02' } }] })
      },
    ],
    ['a deleted Patient', async ({ server }) => void expect((await server.delete('/Patient/ann')).status).toBe(204)],
  ])('for a member with %s', (_, change) =>
    withMatch(
      async (exchange) => {
        await change(exchange)
        for (const named of [{ sub: 'Patient/ann' }, { patient: 'ann' }]) expect(errorOf(await exchange.tokenFor(named))).toEqual(NO_ACCESS)
      },
      { FHIR_REFERENTIAL_INTEGRITY: 'off' },
    ),
  )

  it('for a member with a record that replaced the matched one', () =>
    withMatch(async ({ server, tokenFor }) => {
      const { body } = await server.get('/Patient/ann')
      await put(server, { ...body, id: 'new' })
      await put(server, { ...body, active: false, link: [{ other: { reference: 'Patient/new' }, type: 'replaced-by' }] })
      expect(errorOf(await tokenFor({ patient: 'new' }))).toEqual(NO_ACCESS)
    }))

  it('for a member that another partner matched', () =>
    withMatch(async ({ server }) => {
      const tokens = await partnerTokens(server, 'payer', 'Payer')
      expect(errorOf(await tokens(SCOPE, { patient: 'ann' }))).toEqual(NO_ACCESS)
    }))

  it('for a member of another tenant', () =>
    withSettings({ ...PAYER_SETTINGS, FHIR_TENANCY: 'on' }, async (server) => {
      expect((await server.post('/', membersBundle(), { 'x-tenant-id': 'north' })).status).toBe(200)
      const [north, south] = [await partnerTokens(server, 'payer', 'a', ['north']), await partnerTokens(server, 'payer', 'b', ['south'])]
      for (const tokens of [north, south]) await match(server.as((await tokens(SCOPE)).access_token), ANN)
      expect((await north(SCOPE, { patient: 'ann' })).patient).toBe('ann')
      expect(errorOf(await south(SCOPE, { patient: 'ann' }))).toEqual(NO_ACCESS)
    }))
})

describe('a token request with a member is rejected', () => {
  it('if sub and patient differ', () =>
    withMatch(async ({ tokenFor }) => expect((await tokenFor({ sub: 'Patient/ann', patient: 'bert' })).error).toBe('invalid_request')))

  it('if the partner has several tenants', () =>
    withSettings({ ...PAYER_SETTINGS, FHIR_TENANCY: 'on' }, async (server) => {
      const tokens = await partnerTokens(server, 'payer', 'payer', ['north', 'south'])
      expect((await tokens(SCOPE, { patient: 'ann' })).error).toBe('invalid_request')
    }))

  it('if sub is another client, or the client is no partner', () =>
    withMatch(async ({ tokenFor }) => expect((await tokenFor({ sub: 'other' })).error).toBe('invalid_client')))
})
