/** An app of members, from its invitation to its removal: it registers itself, logs a member in, reads, and is counted. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { addClient, addUser, openAdministration } from '../../lambdas/runtime/control/administration.ts'
import type { EmbeddedServer } from '../../lambdas/runtime/embedded/server.ts'
import { startServer } from '../api/server.ts'
import { runFhir } from '../bin/process.ts'
import { newFolder } from '../fixtures/at-end.ts'
import type { Tree } from '../fixtures/resources.ts'
import { allowAccess, fetchedServer, logIn, openBrowser, redirectOf } from './browser.ts'

const ISSUER = 'http://127.0.0.1/fhir'
const BACK = 'https://app.example/back'
const PASSWORD = 'correct horse battery'
const SCOPE = 'launch/patient openid fhirUser offline_access patient/*.rs'
const MEMBER = { reference: 'Patient/1' }
const RECORD = [
  { resourceType: 'Patient', id: '1' },
  { resourceType: 'Patient', id: '2' },
  { resourceType: 'Coverage', id: 'c1', status: 'active', beneficiary: MEMBER, payor: [{ display: 'The payer' }] },
  { resourceType: 'Coverage', id: 'c2', status: 'active', beneficiary: { reference: 'Patient/2' }, payor: [{ display: 'The payer' }] },
]

const data = newFolder()
let embedded: EmbeddedServer
let base: string

const server = fetchedServer(() => base)
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

async function start(): Promise<void> {
  const settings = { FHIR_ACCESS: 'token', FHIR_AUDIT_DURABILITY: 'strict', FHIR_PRIVATE_HOSTS: '10.9.0.0/16' }
  const started = await startServer(settings, data)
  embedded = started.embedded
  base = started.base
}

async function restart(): Promise<void> {
  await embedded.close()
  await start()
}

beforeAll(async () => {
  const ports = await openAdministration(data, { isNew: true })
  const loader = { id: 'loader', name: 'loader', scopes: ['system/*.cruds'], redirectUris: [], tenants: ['default'], mayIntrospect: false }
  const { secret } = await addClient(ports, { ...loader, authentication: 'secret' })
  await addUser(ports, { name: 'ann', scopes: ['patient/*.rs'], tenants: ['default'], fhirUser: 'Patient/1' }, PASSWORD)
  await ports.close()
  await start()
  const form = { grant_type: 'client_credentials', client_id: 'loader', client_secret: secret! }
  const { access_token } = (await server.ask('POST', '/auth/token', { form })).body
  for (const resource of RECORD) {
    const headers = { ...bearer(access_token), 'content-type': 'application/fhir+json' }
    const { resourceType, id } = resource
    const { status } = await fetch(`${base}/${resourceType}/${id}`, { method: 'PUT', headers, body: JSON.stringify(resource) })
    expect([resourceType, status]).toEqual([resourceType, 201])
  }
})

afterAll(() => embedded?.close())

it('an app registers by its invitation, reads the record of a member, is counted once, and removes itself', async () => {
  const invited = await runFhir('client', 'invite', '--name', 'Fit', '--json', '--data', data)
  const { initial_access_token } = JSON.parse(invited.out)
  await restart()
  const metadata = { redirect_uris: [BACK], scope: SCOPE }
  const register = () => server.ask('POST', '/auth/register', { json: metadata, headers: bearer(initial_access_token) })
  const responses = await Promise.all(Array.from({ length: 8 }, register))
  const created = responses.filter(({ status }) => status === 201)
  expect([created.length, responses.filter(({ status }) => status === 401).length]).toEqual([1, 7])
  const app: Tree = created[0]!.body
  const { client_id, client_secret } = app
  expect(app).toMatchObject({ client_name: 'Fit', scope: SCOPE, registration_client_uri: `${ISSUER}/auth/register?client_id=${client_id}` })
  await restart()

  const browser = openBrowser(server, ISSUER)
  const asked = { response_type: 'code', client_id, redirect_uri: BACK, aud: ISSUER, scope: SCOPE }
  const page = await logIn(browser, await browser.open('/auth/authorize', asked), 'ann', PASSWORD)
  expect(page.text).toContain('Allow access for Fit?')
  const { sent } = redirectOf(await allowAccess(browser, page))
  const credentials = { client_id, client_secret }
  const exchange = async (form: Readonly<Record<string, string>>) =>
    (await server.ask('POST', '/auth/token', { form: { ...credentials, ...form } })).body
  const tokens = await exchange({ grant_type: 'authorization_code', code: sent.code!, redirect_uri: BACK })
  expect(tokens.patient).toBe('1')
  const read = (path: string) => fetch(`${base}${path}`, { headers: bearer(tokens.access_token) })
  const paths = ['/Patient/1', '/Coverage?patient=1', '/Patient/2', '/Coverage/c2']
  expect(await Promise.all(paths.map(async (path) => (await read(path)).status))).toEqual([200, 200, 404, 404])
  const bundle = (await (await read('/Coverage')).json()) as Tree
  expect(bundle.entry.map(({ resource }: Tree) => resource.id)).toEqual(['c1'])

  const year = String(new Date().getUTCFullYear())
  const usage = JSON.parse((await runFhir('usage', '--data', data, '--year', year, '--json')).out)
  expect(usage.patientAccess).toMatchObject({ enrollees: 1, apps: 1 })

  const own = { query: { client_id }, headers: bearer(app.registration_access_token) }
  const registration = await server.ask('GET', '/auth/register', own)
  expect([registration.status, registration.body.scope]).toEqual([200, SCOPE])
  expect((await server.ask('DELETE', '/auth/register', own)).status).toBe(204)
  expect((await read('/Patient/1')).status).toBe(401)
  expect((await exchange({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token })).error).toBe('invalid_client')
  expect((await register()).status).toBe(401)
  expect((await server.ask('GET', '/auth/register', own)).status).toBe(401)
})

it('an app with keys at a private host registers only if the operator lists it', async () => {
  const invited = await runFhir('client', 'invite', '--json', '--data', data)
  const headers = bearer(JSON.parse(invited.out).initial_access_token)
  const metadata = { redirect_uris: [BACK], token_endpoint_auth_method: 'private_key_jwt' }
  const register = (host: string) => server.ask('POST', '/auth/register', { json: { ...metadata, jwks_uri: `https://${host}/` }, headers })
  const { status, body } = await register('10.8.0.1')
  expect([status, body.error]).toEqual([400, 'invalid_client_metadata'])
  expect((await register('10.9.0.1')).status).toBe(201)
})
