/** Registration of apps by invitation. https://www.rfc-editor.org/rfc/rfc7591, https://www.rfc-editor.org/rfc/rfc7592 */
import { generateKeyPairSync } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { mayFetch } from '../../../lambdas/adapters/https/private-hosts.ts'
import { inviteClient } from '../../../lambdas/auth/administration/invite-client.ts'
import type { NewInvitation } from '../../../lambdas/auth/clients/invitations.ts'
import {
  BASE_URL,
  createAuthorization,
  type RequestContent,
  START_TIME,
  type TestAuthorization,
  type TestResponse,
} from '../authorization.ts'
import { allowAccess, logIn, openBrowser, redirectOf } from '../browser.ts'

const BACK = 'https://app.example/back'
const ALL = 'patient/*.rs launch/patient openid fhirUser offline_access'
const DAY = 24 * 60 * 60 * 1000
const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' })
const JWK = { ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'ES384', use: 'sig' }

let auth: TestAuthorization

const reset = async () => {
  auth = await createAuthorization({ patients: [{ id: 'p1', name: 'Ann Example' }] })
}

beforeAll(reset)

const audit = { prepare: () => undefined, record: () => undefined, close: async () => undefined }
const invite = (more: Partial<NewInvitation> = {}) =>
  inviteClient({ clients: auth.clients, clock: auth.clock, audit }, { tenants: ['default'], days: 7, ...more })
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const send = (token: string, json: unknown, more: RequestContent = {}) =>
  auth.ask('POST', '/auth/register', { json, ...more, headers: { ...bearer(token), ...more.headers } })
const registered = async (more: Partial<NewInvitation> = {}, metadata: object = {}) => {
  const { token } = await invite(more)
  return (await send(token, { redirect_uris: [BACK], token_endpoint_auth_method: 'none', ...metadata })).body
}
/** Sends the request to the URL of a registration. */
const manage = (method: string, { registration_client_uri, registration_access_token }: TestResponse['body']) =>
  auth.ask(method, '/auth/register', {
    query: new URL(registration_client_uri).search.slice(1),
    headers: bearer(registration_access_token),
  })
const noStore = { 'cache-control': 'no-store' }

describe('a registration', () => {
  it('returns the registered metadata of a public app with 201', async () => {
    const { token, client } = await invite()
    const { status, headers, body } = await send(token, { redirect_uris: [BACK], token_endpoint_auth_method: 'none', client_name: 'Fit' })
    expect([status, headers]).toEqual([201, expect.objectContaining({ ...noStore, 'content-type': 'application/json; charset=utf-8' })])
    expect(body).toEqual({
      client_id: client.id,
      client_name: 'Fit',
      token_endpoint_auth_method: 'none',
      scope: ALL,
      redirect_uris: [BACK],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      client_id_issued_at: START_TIME / 1000,
      registration_access_token: expect.stringMatching(/^id-\d+[.][\w-]{43}$/),
      registration_client_uri: `${BASE_URL}/auth/register?client_id=${client.id}`,
    })
    expect(body.registration_access_token).not.toBe(token)
    expect(auth.audited.at(-1)).toMatchObject({ interaction: 'register', client: client.id, outcome: 'registered', status: 201 })
  })

  it('makes a secret by default, which is stored as its hash and lets the app authenticate', async () => {
    const { client_id, client_secret, ...body } = await registered({}, { token_endpoint_auth_method: undefined })
    expect(body).toMatchObject({ token_endpoint_auth_method: 'client_secret_basic', client_secret_expires_at: 0 })
    const texts = JSON.stringify(await auth.clients.list())
    expect([client_secret, body.registration_access_token.split('.')[1]].filter((secret) => texts.includes(secret))).toEqual([])
    const form = { client_id, client_secret, token: 'none' }
    expect((await auth.ask('POST', '/auth/introspect', { form })).body).toEqual({ active: false })
  })

  it.each([
    ['jwks', { jwks: { keys: [JWK] } }],
    ['jwks_uri', { jwks_uri: 'https://app.example/jwks.json' }],
  ])('registers the keys of %s', async (_, keys) => {
    const body = await registered({}, { token_endpoint_auth_method: 'private_key_jwt', ...keys })
    expect(body).toMatchObject({ token_endpoint_auth_method: 'private_key_jwt', ...keys })
    expect(body).not.toHaveProperty('client_secret')
  })

  it('never has a scope that the invitation lacks', async () => {
    const scopes = ['patient/Observation.rs', 'launch/patient']
    expect((await registered({ scopes })).scope).toBe(scopes.join(' '))
    const asked = { scope: 'patient/*.cruds user/*.rs system/*.rs launch/patient openid offline_access unknown' }
    expect(await registered({ scopes }, asked)).toMatchObject({
      ...{ scope: 'patient/Observation.rs launch/patient', grant_types: ['authorization_code'] },
    })
  })

  it('has the name and the tenants of the invitation', async () => {
    const { client_id, client_name } = await registered({ name: 'Fit of Example', tenants: ['north'] }, { client_name: 'Your bank' })
    expect([client_name, (await auth.clients.get(client_id))!.tenants]).toEqual(['Fit of Example', ['north']])
  })

  it('omits metadata that the server does not support', async () => {
    const ignored = {
      logo_uri: 'https://app.example/logo.png',
      software_id: 'x',
      contacts: ['a@app.example'],
      'client_name#de': 'Fit',
      x: {},
    }
    const body = await registered({}, { ...ignored, grant_types: ['implicit', 'authorization_code'], response_types: ['token', 'code'] })
    expect(Object.keys(body).filter((name) => name in ignored)).toEqual([])
    expect(body).toMatchObject({ grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] })
  })

  it('gets no token without a user: its scopes would open the data of all patients', async () => {
    const { client_id, client_secret } = await registered({}, { token_endpoint_auth_method: 'client_secret_post' })
    const form = { grant_type: 'client_credentials', client_id, client_secret }
    const { status, body } = await auth.ask('POST', '/auth/token', { form })
    expect([status, body.error]).toEqual([400, 'unauthorized_client'])
  })
})

describe('an initial access token', () => {
  beforeEach(reset)

  it('registers one app, also if several requests race', async () => {
    const { token } = await invite()
    const metadata = { redirect_uris: [BACK], token_endpoint_auth_method: 'none' }
    const statuses = (await Promise.all([1, 2, 3].map(() => send(token, metadata)))).map(({ status }) => status)
    expect(statuses.toSorted()).toEqual([201, 401, 401])
    expect((await send(token, metadata)).status).toBe(401)
    expect(await auth.clients.list()).toHaveLength(1)
  })

  it('stays unused after a request with invalid metadata, or one that could not be stored', async () => {
    const { token } = await invite()
    expect((await send(token, {})).status).toBe(400)
    const { change } = auth.clients
    auth.clients.change = async () => {
      throw new Error('killed')
    }
    expect((await send(token, { redirect_uris: [BACK] })).status).toBe(500)
    auth.clients.change = change
    expect((await send(token, { redirect_uris: [BACK] })).status).toBe(201)
  })

  it('expires', async () => {
    const { token } = await invite({ days: 1 })
    auth.later(DAY - 1)
    expect((await send(token, {})).status).toBe(400)
    auth.later(1)
    expect((await send(token, { redirect_uris: [BACK] })).status).toBe(401)
  })

  it('is invalid if the invitation was removed', async () => {
    const { token, client } = await invite()
    await auth.clients.change(client.id, () => undefined)
    expect((await send(token, { redirect_uris: [BACK] })).status).toBe(401)
  })

  it('is needed: every other request is answered 401 with one text', async () => {
    await auth.addClient('other')
    const { token, client } = await invite()
    const used = await registered()
    const wrong = [`${client.id}.${'A'.repeat(43)}`, `${token}A`, `.${token}`, token.slice(2), `other.${token.split('.')[1]}`, 'x', '']
    for (const each of [...wrong, used.registration_access_token]) {
      const { status, headers, body } = await send(each, { redirect_uris: [BACK] })
      expect([each, status, body.error]).toEqual([each, 401, 'invalid_token'])
      expect(headers).toMatchObject({ ...noStore, 'www-authenticate': `Bearer realm="fhir", error="invalid_token", error_description="${body.error_description}"` }) // biome-ignore format: one line
    }
    const none = await auth.ask('POST', '/auth/register', { json: { redirect_uris: [BACK] } })
    expect([none.status, none.headers['www-authenticate'], none.headers['cache-control']]).toEqual([401, 'Bearer realm="fhir"', 'no-store'])
  })
})

it('a page of an allowed origin may register an app and read the response', async () => {
  const { status, headers } = await auth.ask('POST', '/auth/register', { json: {}, headers: { origin: 'https://app.example' } })
  expect([status, headers['access-control-allow-origin']]).toEqual([401, '*'])
  expect(headers['access-control-expose-headers']).toContain('WWW-Authenticate')
})

describe('invalid metadata', () => {
  const valid = { redirect_uris: [BACK] }
  const keys = { ...valid, token_endpoint_auth_method: 'private_key_jwt' }
  const redirect: readonly (readonly [unknown, string])[] = [
    [{}, 'redirect_uris must be an array'],
    [{ redirect_uris: [] }, 'redirect_uris must be an array'],
    [{ redirect_uris: BACK }, 'redirect_uris must be an array'],
    [{ redirect_uris: [BACK, 1] }, 'redirect_uris[1] is not a string'],
    [{ redirect_uris: [`${BACK}#a`] }, 'redirect_uris[0] has a fragment'],
    [{ redirect_uris: ['http://app.example/'] }, 'redirect_uris[0] is neither https'],
    [{ redirect_uris: ['javascript:alert(1)'] }, 'redirect_uris[0] has a scheme'],
    [{ redirect_uris: ['https://*.example/'] }, 'redirect_uris[0] has characters'],
    [{ redirect_uris: [`${BACK}${'a'.repeat(2_000)}`] }, 'redirect_uris[0] is longer'],
  ]
  const metadata: readonly (readonly [unknown, string])[] = [
    ['{', 'not valid JSON'],
    ['{"redirect_uris":["https://a.example/"],"redirect_uris":["https://b.example/"]}', 'JSON'],
    ['[]', 'one JSON object'],
    ['null', 'one JSON object'],
    [{ redirect_uris: Array.from({ length: 101 }, (_, i) => `${BACK}${i}`) }, 'More than 100 redirect URIs'],
    [{ ...valid, client_name: 1 }, 'client_name must be a string'],
    [{ ...valid, client_name: ' ' }, 'A name has'],
    [{ ...valid, client_name: 'a'.repeat(201) }, 'A name has'],
    [{ ...valid, client_name: 'Fit\u202e' }, 'A name has'],
    [{ ...valid, scope: ['openid'] }, 'scope must be a string'],
    [{ ...valid, scope: 'system/*.rs' }, 'scope must contain at least one'],
    [{ ...valid, scope: '' }, 'scope must contain at least one'],
    [{ ...valid, grant_types: 'authorization_code' }, 'grant_types must be an array'],
    [{ ...valid, grant_types: ['client_credentials'] }, 'grant_types must include authorization_code'],
    [{ ...valid, response_types: ['token'] }, 'response_types must include code'],
    [{ ...valid, token_endpoint_auth_method: 'tls_client_auth' }, 'token_endpoint_auth_method must be one of'],
    [{ ...valid, token_endpoint_auth_method: null }, 'token_endpoint_auth_method must be a string'],
    [keys, 'private_key_jwt needs'],
    [{ ...keys, jwks: { keys: [JWK] }, jwks_uri: 'https://app.example/jwks' }, 'only one of jwks and jwks_uri'],
    [{ ...keys, jwks: { keys: [] } }, 'jwks: It holds no keys'],
    [{ ...keys, jwks: { keys: [{ ...JWK, d: 'AQ' }] } }, 'jwks: It holds private keys'],
    [{ ...keys, jwks: 'x' }, 'jwks: '],
    [{ ...keys, jwks_uri: 'http://app.example/jwks' }, 'https URL'],
    [{ ...keys, jwks_uri: 1 }, 'jwks_uri must be a string'],
  ]

  it.each([...redirect.map((row) => [...row, 'invalid_redirect_uri']), ...metadata.map((row) => [...row, 'invalid_client_metadata'])])(
    '%j is answered 400 with "%s" and the code %s',
    async (json, text, code) => {
      const { token, client } = await invite()
      const { status, headers, body } = await send(token, json)
      expect([status, body.error, headers]).toEqual([400, code, expect.objectContaining(noStore)])
      expect(body.error_description).toContain(text)
      expect(auth.audited.at(-1)).toMatchObject({ interaction: 'register', client: client.id, outcome: code, status: 400 })
    },
  )

  it('is answered 400 for another media type, and 413 if it has more than 64 KiB', async () => {
    const { token } = await invite()
    const form = await send(token, JSON.stringify(valid), { headers: { 'content-type': 'application/x-www-form-urlencoded' } })
    expect([form.status, form.body.error]).toEqual([400, 'invalid_client_metadata'])
    expect((await send(token, { ...valid, x: 'x'.repeat(65_536) })).status).toBe(413)
    expect((await send(token, valid, { headers: { 'content-type': 'Application/JSON; charset=utf-8' } })).status).toBe(201)
  })
})

describe('keys at a URI', () => {
  const checked: string[] = []
  beforeAll(async () => {
    auth = await createAuthorization({
      async mayFetchKeys(uri) {
        checked.push(uri)
        return mayFetch(uri, ['192.168.7.7'])
      },
    })
  })
  const metadataOf = (host: string) => ({
    ...{ redirect_uris: [BACK], token_endpoint_auth_method: 'private_key_jwt', jwks_uri: `https://${host}/jwks.json` },
  })

  it.each([
    ...['127.0.0.1', 'localhost', '2130706433', '10.0.0.1', '172.16.0.1:8443', '192.168.1.1', '169.254.169.254', '100.64.0.1', '0.0.0.0'],
    ...['[::1]', '[fe80::1]', '[fd00::1]', '[::ffff:10.0.0.1]'],
  ])('are rejected if an address of their host is private: %s', async (host) => {
    const { token, client } = await invite()
    const { status, headers, body } = await send(token, metadataOf(host))
    expect([status, body.error, headers]).toEqual([400, 'invalid_client_metadata', expect.objectContaining(noStore)])
    expect(body.error_description).toBe('jwks_uri must have a host with public addresses. The server fetches keys from no other')
    expect(auth.audited.at(-1)).toMatchObject({ client: client.id, outcome: 'invalid_client_metadata', status: 400 })
    expect((await send(token, metadataOf('8.8.8.8'))).status).toBe(201)
  })

  it('are accepted from a private host that the operator lists', async () => {
    const { token } = await invite()
    expect((await send(token, metadataOf('192.168.7.7'))).status).toBe(201)
  })

  it('are not looked up for an app without an open invitation, or with other invalid metadata', async () => {
    const { token } = await invite()
    checked.length = 0
    expect((await send(`${token}A`, metadataOf('8.8.8.8'))).status).toBe(401)
    expect((await send(token, { ...metadataOf('8.8.8.8'), scope: '' })).status).toBe(400)
    expect((await send(token, { ...metadataOf('8.8.8.8'), jwks_uri: 'no URI' })).status).toBe(400)
    expect(checked).toEqual([])
  })
})

describe('a registered app', () => {
  beforeEach(reset)

  it('reads its registration, without the secret', async () => {
    const { client_secret, client_secret_expires_at: _, ...body } = await registered({}, { token_endpoint_auth_method: undefined })
    expect(client_secret).toEqual(expect.any(String))
    const answer = await manage('GET', body)
    expect([answer.status, answer.body, answer.headers]).toEqual([200, body, expect.objectContaining(noStore)])
    expect(auth.audited.at(-1)).toMatchObject({ interaction: 'register', client: body.client_id, outcome: 'read' })
  })

  it('removes its registration and revokes its tokens', async () => {
    const app = await registered()
    await auth.addUser('ann', { fhirUser: 'Patient/p1', tenants: ['default'], scopes: ['patient/*.rs'] })
    auth.acting.set('Patient/p1', ['p1'])
    const browser = openBrowser(auth)
    const { client_id } = app
    const asked = {
      response_type: 'code',
      client_id,
      redirect_uri: BACK,
      aud: BASE_URL,
      scope: 'launch/patient patient/*.rs offline_access',
    }
    const { sent } = redirectOf(await allowAccess(browser, await logIn(browser, await browser.open('/auth/authorize', asked), 'ann')))
    const form = { grant_type: 'authorization_code', client_id, redirect_uri: BACK, code: sent.code! }
    const { status, body } = await auth.ask('POST', '/auth/token', { form })
    expect([status, body.patient]).toEqual([200, 'p1'])
    const { generation } = (await auth.clients.get(client_id))!
    const removed = await manage('DELETE', app)
    expect([removed.status, removed.text, removed.headers]).toEqual([204, '', expect.objectContaining(noStore)])
    expect(auth.audited.at(-1)).toMatchObject({ interaction: 'register', client: client_id, outcome: 'removed', status: 204 })
    expect((await auth.revocations.revoked([`client:${client_id} ${generation}`])).size).toBe(1)
    const again = { grant_type: 'refresh_token', client_id, refresh_token: body.refresh_token }
    expect((await auth.ask('POST', '/auth/token', { form: again })).body.error).toBe('invalid_client')
    for (const method of ['GET', 'DELETE']) expect((await manage(method, app)).status).toBe(401)
  })

  it('cannot reach another registration, or an invitation', async () => {
    const [one, two] = [await registered(), await registered()]
    const { token, client } = await invite()
    const invited = { registration_client_uri: `${BASE_URL}/auth/register?client_id=${client.id}`, registration_access_token: token }
    const crossed = { ...one, registration_client_uri: two.registration_client_uri }
    const unnamed = { ...one, registration_client_uri: `${BASE_URL}/auth/register` }
    for (const method of ['GET', 'DELETE'])
      for (const wrong of [crossed, unnamed, invited, { ...one, registration_access_token: `${one.client_id}.${'A'.repeat(43)}` }]) {
        const { status, headers } = await manage(method, wrong)
        expect([status, headers['www-authenticate']]).toEqual([401, expect.stringContaining('error="invalid_token"')])
      }
    expect(await auth.clients.list()).toHaveLength(3)
  })

  it('cannot change its registration', async () => {
    const app = await registered()
    const { status, headers } = await manage('PUT', app)
    expect([status, headers.allow]).toEqual([405, 'POST, GET, DELETE, OPTIONS'])
  })
})

describe('an invitation', () => {
  it.each(['patient/*.cruds', 'patient/Observation.c', 'user/*.rs', 'system/*.rs', 'system/admin', 'launch', 'profile', 'online_access'])(
    'cannot have the scope %s',
    (scope) => expect(invite({ scopes: [scope] })).rejects.toThrow(`The scopes of an invitation must be within ${ALL}: ${scope} is not`),
  )

  it.each([0, -1, 91, 1.5, Number.NaN])('cannot last %d days', (days) => expect(invite({ days })).rejects.toThrow('1 to 90 days'))

  it('is no client that can log a user in or authenticate', async () => {
    const { client, token } = await invite()
    const asked = { response_type: 'code', client_id: client.id, redirect_uri: BACK, aud: BASE_URL, scope: 'patient/*.rs' }
    expect((await auth.ask('GET', '/auth/authorize', { query: asked })).status).toBe(400)
    for (const client_secret of [token, token.split('.')[1]!, 'x']) {
      const form = { grant_type: 'authorization_code', client_id: client.id, client_secret, code: 'x', redirect_uri: BACK }
      expect((await auth.ask('POST', '/auth/token', { form })).body.error).toBe('invalid_client')
    }
  })

  it('is removed by a later one after it expired', async () => {
    await reset()
    const [{ client }, app] = [await invite({ days: 1 }), await registered({ days: 1 })]
    auth.later(DAY)
    const { client: later } = await invite()
    expect((await auth.clients.list()).map(({ id }) => id).toSorted()).toEqual([app.client_id, later.id].toSorted())
    expect(client.id).not.toBe(later.id)
  })
})
