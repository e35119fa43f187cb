/** The embedded server asked by clients of its own, by those of another issuer that publishes its keys, and by nobody in particular. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { fetchDocument } from '../../lambdas/adapters/https/fetch-document.ts'
import { openGrants } from '../../lambdas/adapters/sqlite-grants/open-grants.ts'
import { ROUTES, requiresToken } from '../../lambdas/catalogue/catalogue.ts'
import { readConfig } from '../../lambdas/runtime/config.ts'
import { type EmbeddedServer, openEmbeddedServer } from '../../lambdas/runtime/embedded/server.ts'
import { eventually } from '../fixtures/eventually.ts'
import { failOnReport } from '../fixtures/never-reports.ts'
import { OTHER_KEY, SECOND_MS, signToken } from './issuing.ts'

const [cert, key] = ['crt', 'key'].map((kind) => readFileSync(new URL(`../fixtures/tls/localhost.${kind}`, import.meta.url), 'utf8')) as [
  string,
  string,
]
const ISSUER = 'https://auth.example.org'
const SECRET = 'a secret of a test'
let fetches = 0
const publisher = createServer({ cert, key }, (_, response) => {
  fetches++
  response.end(JSON.stringify({ keys: [OTHER_KEY.published] }))
})

let embedded: EmbeddedServer
let base = ''

/** What to do then. */
const NEXT = {
  severity: 'information',
  details: {
    text: expect.stringMatching(
      /^On this machine npm run -s fhir -- token prints an access token\. http:\/\/127\.0\.0\.1\S*\/fhir\/\.well-known\/smart-configuration names where apps get one$/,
    ),
  },
}

beforeAll(async () => {
  await new Promise<void>((resolve) => publisher.listen(0, '127.0.0.1', resolve))
  const jwksUri = `https://localhost:${(publisher.address() as AddressInfo).port}/keys`
  const issuers = [{ issuer: ISSUER, audience: 'api://fhir', jwksUri, scopes: 'system/*.rs', claims: { client: 'azp' } }]
  embedded = await openEmbeddedServer({
    config: readConfig({ FHIR_ACCESS: 'token', FHIR_EXTERNAL_ISSUERS: JSON.stringify(issuers) }),
    baseUrl: 'http://127.0.0.1/fhir',
    fetchDocument: fetchDocument({ ca: cert, mayReach: (address) => address === '127.0.0.1' || address === '::1' }),
    report: failOnReport,
  })
  await new Promise<void>((resolve) => embedded.server.listen(0, '127.0.0.1', resolve))
  base = `http://127.0.0.1:${(embedded.server.address() as AddressInfo).port}/fhir`
})
afterAll(async () => {
  await embedded.close()
  publisher.closeAllConnections()
  await new Promise((resolve) => publisher.close(resolve))
})

async function ask(method: string, path: string, token?: string, body?: object) {
  const headers = { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), 'content-type': 'application/fhir+json' }
  const response = await fetch(base + path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
  const text = await response.text()
  return { status: response.status, challenge: response.headers.get('www-authenticate'), body: text === '' ? undefined : JSON.parse(text) }
}

const post = async (path: string, form: Record<string, string>) => {
  const response = await fetch(base + path, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`app:${SECRET}`)}` },
    body: new URLSearchParams(form),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
}

it('a token of a client is rejected at once after its revocation', async () => {
  const stores = openGrants(join(embedded.folder, 'grants.db'), Date.now)
  await stores.clients.change('app', () => ({
    ...{ id: 'app', name: 'app', scopes: ['system/*.rs'], redirectUris: [], tenants: ['default'], mayIntrospect: false, changedAt: 1 },
    authentication: { kind: 'secret', hashes: [createHash('sha256').update(SECRET).digest('base64url')] },
  }))
  await stores.close()
  const { body } = await post('/auth/token', { grant_type: 'client_credentials', scope: 'system/*.rs' })
  const token = body.access_token as string
  expect((await ask('GET', '/Patient', token)).status).toBe(200)
  expect((await ask('PUT', '/Patient/a', token, { resourceType: 'Patient', id: 'a' })).status).toBe(403)
  expect((await post('/auth/revoke', { token })).status).toBe(200)
  const challenge = 'Bearer realm="fhir", error="invalid_token", error_description="The token was revoked"'
  expect(await ask('GET', '/Patient', token)).toMatchObject({ status: 401, challenge, body: { issue: [{ code: 'login' }, NEXT] } })
})

it('a client of another issuer is admitted by cached keys, within its scopes', async () => {
  const now = Math.floor(Date.now() / SECOND_MS)
  const claims = { iss: ISSUER, aud: 'api://fhir', sub: 'x', azp: 'app', iat: now, exp: now + 300, scope: 'system/*.cruds' }
  const token = signToken(OTHER_KEY, claims)
  expect((await Promise.all([1, 2, 3].map(() => ask('GET', '/Patient', token)))).map(({ status }) => status)).toEqual([200, 200, 200])
  expect((await ask('PUT', '/Patient/a', token, { resourceType: 'Patient', id: 'a' })).status).toBe(403)
  expect((await ask('GET', '/Patient', signToken(OTHER_KEY, { ...claims, aud: 'http://127.0.0.1/fhir' }))).status).toBe(401)
  expect(fetches).toBe(1)
})

it.each(ROUTES.filter(({ interaction }) => requiresToken(interaction)).map(({ method, path }) => [method, path]))(
  'a request without a token is 401: %s %s',
  async (method, path) => {
    const concrete = path.replace(/\{(\w+)\}/g, (_, name) => (name === 'type' || name === 'owner' ? 'Patient' : '1'))
    const answer = await ask(method, concrete, undefined, method === 'GET' ? undefined : { resourceType: 'Patient' })
    expect(answer).toMatchObject({ status: 401, challenge: 'Bearer realm="fhir"', body: { issue: [{ code: 'login' }, NEXT] } })
  },
)

it('the health needs no token, and ignores an invalid one', async () => {
  // A search is answered after the index has reported its position.
  expect((await ask('GET', '/Patient', await embedded.issue({ isAdministrator: true }))).status).toBe(200)
  for (const headers of [{}, { authorization: 'Bearer garbage' }]) {
    const response = await fetch(new URL('/health', base), { headers })
    expect([response.status, Object.keys((await response.json()) as object)]).toEqual([200, ['ready', 'lag']])
  }
})

it('metadata lists custom parameters only for a valid token', async () => {
  const token = await embedded.issue({ isAdministrator: true })
  const definition = {
    ...{ resourceType: 'SearchParameter', id: 'own', url: 'http://example.org/own', name: 'own', status: 'active', description: 'own' },
    ...{ code: 'own', base: ['Patient'], type: 'string', expression: 'Patient.name.family' },
  }
  expect((await ask('PUT', '/SearchParameter/own', token, definition)).status).toBe(201)
  const knowsIt = async (by?: string): Promise<boolean> =>
    JSON.stringify((await ask('GET', '/metadata', by)).body).includes('http://example.org/own')
  await eventually(() => knowsIt(token))
  expect(await knowsIt()).toBe(false)
  expect((await ask('GET', '/metadata')).status).toBe(200)
  expect((await ask('GET', '/metadata', 'garbage')).status).toBe(401)
})
