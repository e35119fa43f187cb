/** Requests with an exchanged token, which shows the view of another client. */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { ROUTES, type Route } from '../../lambdas/catalogue/catalogue.ts'
import { tokenAuthenticator } from '../../lambdas/http/authenticators.ts'
import { startTestServer, type TestServer } from '../http/front.ts'
import { createTestIssuer, SECOND_MS } from './issuing.ts'

const issuer = createTestIssuer()
const EXCHANGED = { client_id: 'explorer', sub: 'a-user', scope: 'user/*.rs', fhirUser: 'Practitioner/1', client_auth: 'none' }
const tokenOf = (more: object = {}) => issuer.token({ ...EXCHANGED, seen_as: 'partner', subject_jti: 'jti-of-person', ...more })

let front: TestServer
beforeAll(async () => {
  front = await startTestServer(async () => ({ status: 200 }), {}, undefined, tokenAuthenticator(issuer.verify))
})
afterAll(() => front.close())
beforeEach(() => {
  front.audited.length = 0
})

const ask = ({ method, path }: Pick<Route, 'method' | 'path'>, token: string): Promise<Response> =>
  fetch(`http://127.0.0.1:${front.port}${path.replace(/\{(\w+)\}/g, (_, name) => (/type|owner/.test(name) ? 'Patient' : '1'))}`, {
    method,
    headers: { authorization: `Bearer ${token}` },
  })

const EXPORTS = ROUTES.filter(({ interaction }) => interaction.startsWith('export'))

it('covers every route of exports', () => expect(EXPORTS.length).toBeGreaterThan(5))

it.each(EXPORTS)('uses no export: $method $path', async (route) => {
  const { status } = await ask(route, tokenOf({ scope: 'user/*.rs system/admin', client_auth: 'assertion' }))
  expect(status).toBe(403)
})

it.each(ROUTES.filter(({ interaction }) => interaction.endsWith('member-match')))('matches no member: $path', async (route) => {
  const more = { partner: 'payer', partner_identifiers: ['http://hl7.org/fhir/sid/us-npi|1234567893'] }
  expect((await ask(route, tokenOf(more))).status).toBe(403)
})

it('reads, and its audit record names the client', async () => {
  expect((await ask({ method: 'GET', path: '/Patient/1' }, tokenOf())).status).toBe(200)
  expect(front.audited).toMatchObject([{ client: 'explorer', subject: 'a-user', seenAs: 'partner', scopes: 'user/*.rs' }])
  await ask({ method: 'GET', path: '/Patient/1' }, issuer.token(EXCHANGED))
  expect(front.audited[1]).not.toHaveProperty('seenAs')
})

it.each(['PUT', 'DELETE', 'PATCH'])('does not write: %s', async (method) =>
  expect((await ask({ method, path: '/Patient/1' }, tokenOf())).status).toBe(403),
)

it('ends with the token that was exchanged', async () => {
  const token = tokenOf()
  expect((await ask({ method: 'GET', path: '/Patient/1' }, token)).status).toBe(200)
  issuer.revoked.set('jti:jti-of-person', issuer.now)
  issuer.now += 4 * SECOND_MS
  expect((await ask({ method: 'GET', path: '/Patient/1' }, token)).status).toBe(401)
  issuer.revoked.clear()
})

it.each([
  ['seen_as', ''],
  ['seen_as', 7],
  ['subject_jti', 'a\nb'],
  ['subject_jti', {}],
])('is rejected with the claim %s %j', async (name, value) =>
  expect((await ask({ method: 'GET', path: '/Patient/1' }, tokenOf({ [name]: value }))).status).toBe(401),
)
