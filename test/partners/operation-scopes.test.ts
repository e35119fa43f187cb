/** Scopes of matches at the embedded server: each permits one operation to a partner of its kind. */
import { describe, expect, it } from '@jest/globals'
import type { TestClient, TestResponse } from '../api/server.ts'
import { type SettingsServer, withSettings } from '../api/settings-tried/setting-server.ts'
import { ANN, attestation, bulkInput, match, membersBundle, PAYER_SETTINGS, partnerTokenOf } from './payer-exchange.ts'

const HREX = 'http://hl7.org/fhir/us/davinci-hrex/OperationDefinition'
const PDEX = 'http://hl7.org/fhir/us/davinci-pdex/OperationDefinition'

const ASYNC = { accept: 'application/fhir+json', prefer: 'respond-async' }

const withMembers = (proof: (server: SettingsServer) => Promise<void>): Promise<void> =>
  withSettings(PAYER_SETTINGS, async (server) => {
    expect((await server.post('/', membersBundle())).status).toBe(200)
    await proof(server)
  })

/** Requests each match of a member. */
const matches = (partner: TestClient): Promise<readonly TestResponse[]> =>
  Promise.all([
    match(partner, ANN),
    partner.post('/Group/$bulk-member-match', bulkInput([{ member: ANN }]), ASYNC),
    partner.post('/Group/$provider-member-match', bulkInput([{ member: ANN, consent: attestation() }]), ASYNC),
  ])

const statusesOf = (responses: readonly TestResponse[]): readonly number[] => responses.map(({ status }) => status)

describe('the scope of a match', () => {
  it.each([
    ['payer', `${HREX}/member-match`, [200, 403, 403]],
    ['payer', `${PDEX}/BulkMemberMatch`, [403, 202, 403]],
    ['payer', `${PDEX}/bulk-member-match`, [403, 202, 403]],
    ['provider', `${PDEX}/ProviderMemberMatch`, [403, 403, 202]],
    ['provider', `${PDEX}/provider-member-match`, [403, 403, 202]],
    ['payer', 'system/*.rs', [200, 202, 403]],
    ['payer', 'system/*.r system/*.s', [200, 202, 403]],
    ['provider', 'system/*.rs', [403, 403, 202]],
    ['payer', 'system/*.r', [403, 403, 403]],
    ['payer', 'system/Patient.rs system/Group.rs', [403, 403, 403]],
  ] as const)('permits to a %s with %s the matches %j', (kind, scope, expected) =>
    withMembers(async (server) => {
      const { access_token: token, scope: granted } = await partnerTokenOf(server, scope, kind)
      expect([granted, statusesOf(await matches(server.as(token)))]).toEqual([scope, expected])
    }),
  )

  it('opens no resources and no export', () =>
    withMembers(async (server) => {
      const partner = server.as((await partnerTokenOf(server, `${HREX}/member-match`)).access_token)
      expect((await match(partner, ANN)).status).toBe(200)
      const { resource: group } = (await server.get('/Group')).body.entry[0]
      const paths = ['/Group', `/Group/${group.id}`, '/Patient/ann', '/Patient', `/Group/${group.id}/$davinci-data-export`]
      expect(statusesOf(await Promise.all(paths.map((path) => partner.get(path, ASYNC))))).toEqual(paths.map(() => 403))
    }))

  it('is named by the error of a token without it', () =>
    withMembers(async (server) => {
      const partner = server.as((await partnerTokenOf(server, 'system/Group.rs')).access_token)
      const { headers, body } = await match(partner, ANN)
      expect([headers.get('www-authenticate'), body.issue[0].details.text]).toEqual([
        expect.stringContaining(`error="insufficient_scope", scope="${HREX}/member-match"`),
        `$member-match needs the scope ${HREX}/member-match or system/*.rs. Nothing was matched`,
      ])
    }))

  it('is granted only to a partner of its kind', () =>
    withMembers(async (server) => {
      const own = `${PDEX}/ProviderMemberMatch`
      const others = `${HREX}/member-match ${PDEX}/BulkMemberMatch`
      expect((await partnerTokenOf(server, `${own} ${others}`, 'provider')).scope).toBe(own)
      expect((await partnerTokenOf(server, others, 'provider', 'another')).error).toBe('invalid_scope')
      const secret = await server.register('app', { scopes: ['system/*.rs'] })
      const form = { grant_type: 'client_credentials', client_id: 'app', client_secret: secret, scope: `${own} ${others}` }
      expect((await server.token(form)).body.error).toBe('invalid_scope')
    }))

  it('is listed by the discovery document', () =>
    withMembers(async (server) => {
      const { scopes_supported: scopes } = (await server.get('/.well-known/smart-configuration', { accept: 'application/json' })).body
      expect(scopes).toEqual(expect.arrayContaining([`${HREX}/member-match`, `${PDEX}/BulkMemberMatch`, `${PDEX}/ProviderMemberMatch`]))
    }))
})
