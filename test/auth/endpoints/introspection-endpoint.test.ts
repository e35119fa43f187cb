/** Specification 5.3: what introspection tells of a token, and whom. */
import { beforeAll, beforeEach, expect, it } from '@jest/globals'
import { readConfig } from '../../../lambdas/runtime/config.ts'
import { BASE_URL, CLIENT_SECRET, claimsOf, createAuthorization, START_TIME, type TestAuthorization } from '../authorization.ts'

let auth: TestAuthorization

const decoded = (text: string): object => JSON.parse(Buffer.from(text, 'base64url').toString())

const AS = (id: string) => ({ client_id: id, client_secret: CLIENT_SECRET })
const tokenOf = async (id: string): Promise<string> =>
  (await auth.ask('POST', '/auth/token', { form: { ...AS(id), grant_type: 'client_credentials' } })).body.access_token
const introspect = (form: Record<string, string>) => auth.ask('POST', '/auth/introspect', { form })

beforeAll(async () => {
  auth = await createAuthorization({ choices: { tenancy: true } })
  await auth.addClient('app', { tenants: ['a'], patient: 'Patient/1' })
  await auth.addClient('other')
  await auth.addClient('gateway', { mayIntrospect: true })
  await auth.addClient('open', { authentication: { kind: 'public' } })
})

beforeEach(() => void auth.audited.splice(0))

it('returns all claims of its own token to a client', async () => {
  const token = await tokenOf('app')
  const { status, headers, body } = await introspect({ ...AS('app'), token })
  expect([status, headers['cache-control']]).toEqual([200, 'no-store'])
  expect(body).toEqual({
    active: true,
    iss: BASE_URL,
    aud: BASE_URL,
    sub: 'app',
    iat: START_TIME / 1000,
    exp: START_TIME / 1000 + 3_600,
    jti: expect.any(String),
    typ: 'Bearer',
    token_type: 'Bearer',
    azp: 'app',
    client_id: 'app',
    clientId: 'app',
    clientHost: '192.0.2.1',
    clientAddress: '192.0.2.1',
    username: 'app',
    acr: '1',
    scope: 'system/*.rs',
    sid: expect.any(String),
    session_state: expect.any(String),
    client_auth: 'secret',
    tenant: 'a',
    patient: '1',
  })
  expect(auth.audited).toMatchObject([{ interaction: 'token' }, { interaction: 'introspect', client: 'app', outcome: 'active' }])
})

it('rejects its own claims as FHIR_TENANT_CLAIM', async () => {
  const token = await tokenOf('app')
  const { tenant, ...told } = { ...(await introspect({ ...AS('app'), token })).body, ...claimsOf(token) }
  expect([tenant, Object.keys(told).length > 15]).toEqual(['a', true])
  for (const claim of Object.keys(told)) expect(() => readConfig({ FHIR_TENANT_CLAIM: claim })).toThrow(`FHIR_TENANT_CLAIM is "${claim}"`)
  expect(readConfig({ FHIR_TENANT_CLAIM: 'https://example.org/tenant' }).tenantClaim).toBe('https://example.org/tenant')
})

it('requires a registered permission for tokens of other clients', async () => {
  const token = await tokenOf('app')
  expect((await introspect({ ...AS('other'), token })).body).toEqual({ active: false })
  expect((await introspect({ ...AS('gateway'), token })).body).toMatchObject({ active: true, client_id: 'app' })
})

it('returns tokens of other clients only within the tenants of the caller', async () => {
  await auth.addClient('of-a', { mayIntrospect: true, tenants: ['a', 'c'] })
  await auth.addClient('of-b', { mayIntrospect: true, tenants: ['b'] })
  await auth.addClient('two', { tenants: ['a', 'b'] })
  await auth.addClient('any')
  const told = async (id: string) => {
    const token = await tokenOf(id)
    return Promise.all(['of-a', 'of-b', 'gateway'].map(async (by) => (await introspect({ ...AS(by), token })).body.active))
  }
  expect(await told('app')).toEqual([true, false, true])
  expect(await told('two')).toEqual([true, true, true])
  expect(await told('any')).toEqual([true, true, true])
})

it('returns without tenancy only tokens valid here, to clients of the default tenant', async () => {
  const without = await createAuthorization()
  await without.addClient('of-b', { mayIntrospect: true, tenants: ['b'] })
  await without.addClient('of-default', { mayIntrospect: true, tenants: ['b', 'default'] })
  await without.addClient('app', { tenants: ['default'] })
  const form = { ...AS('app'), grant_type: 'client_credentials' }
  const token = (await without.ask('POST', '/auth/token', { form })).body.access_token
  const told = async (by: string, of: string) =>
    (await without.ask('POST', '/auth/introspect', { form: { ...AS(by), token: of } })).body.active
  expect([await told('of-b', token), await told('of-default', token), await told('app', token)]).toEqual([false, true, true])
  const before = await tokenOf('app')
  without.keys.list = () => auth.keys.list()
  expect([await told('of-default', before), await told('app', before)]).toEqual([false, false])
})

it('returns only active: false for malformed, altered and revoked tokens', async () => {
  const token = await tokenOf('app')
  const { jti, sid, sub } = (await introspect({ ...AS('app'), token })).body
  const [header, claims, signature] = token.split('.')
  const forged = Buffer.from(Buffer.from(claims!, 'base64url').toString().replace('system/*.rs', 'system/*.cr')).toString('base64url')
  for (const wrong of ['abc', `${header}.${claims}.`, `${header}.${forged}.${signature}`, '..', token.slice(0, -5), `${token}.x`])
    expect([wrong, (await introspect({ ...AS('app'), token: wrong })).body]).toEqual([wrong, { active: false }])
  for (const mark of [`jti:${jti}`, `sid:${sid}`, `client:${sub}`] as const) {
    const clean = await createAuthorization({ choices: { tenancy: true } })
    await clean.addClient('app')
    clean.keys.list = () => auth.keys.list()
    const asked = () => clean.ask('POST', '/auth/introspect', { form: { ...AS('app'), token } })
    expect((await asked()).body.active).toBe(true)
    await clean.revocations.revoke({ mark, before: START_TIME, until: START_TIME + 10_000_000 })
    expect((await asked()).body).toEqual({ active: false })
  }
})

it('accepts a key only while it is published', async () => {
  const own = await createAuthorization()
  await own.addClient('app')
  const token = (await own.ask('POST', '/auth/token', { form: { ...AS('app'), grant_type: 'client_credentials' } })).body.access_token
  const [header = '', claims = ''] = token.split('.')
  const { kid } = (await own.keys.make(START_TIME - 10_000_000)).key
  const signed = `${Buffer.from(JSON.stringify({ ...decoded(header), kid })).toString('base64url')}.${claims}`
  const old = `${signed}.${Buffer.from(await own.keys.sign(kid, Buffer.from(signed))).toString('base64url')}`
  const activeOnce = async (retiredAt: number) => {
    await own.keys.retire(kid, retiredAt)
    return (await own.ask('POST', '/auth/introspect', { form: { ...AS('app'), token: old } })).body.active
  }
  expect([await activeOnce(START_TIME - 3_600_000), await activeOnce(START_TIME - 3_660_000)]).toEqual([true, false])
  expect((await own.keys.list()).some(({ key }) => key.kid === kid)).toBe(true)
})

it('returns active: false for a token with a space or a newline', async () => {
  const token = await tokenOf('app')
  for (const text of [`${token} `, `${token}\n`, token.replace(/.{9}$/, ' $&')])
    expect((await introspect({ ...AS('app'), token: text })).body).toEqual({ active: false })
})

it('returns active: false once the token has expired', async () => {
  const late = await createAuthorization()
  await late.addClient('app')
  const form = { ...AS('app'), grant_type: 'client_credentials' }
  const token = (await late.ask('POST', '/auth/token', { form })).body.access_token
  const active = async () => (await late.ask('POST', '/auth/introspect', { form: { ...AS('app'), token } })).body.active
  late.later(3_599_000)
  expect(await active()).toBe(true)
  late.later(1_000)
  expect(await active()).toBe(false)
})

it.each([
  ['a wrong secret', { client_id: 'app', client_secret: 'wrong', token: 'a' }, 401, 'invalid_client'],
  ['an unknown client', { client_id: 'nobody', client_secret: CLIENT_SECRET, token: 'a' }, 400, 'invalid_client'],
  ['a public client', { client_id: 'open', token: 'a' }, 400, 'invalid_client'],
  ['no client', { token: 'a' }, 400, 'invalid_request'],
  ['no token', { client_id: 'app', client_secret: CLIENT_SECRET }, 400, 'invalid_request'],
] as const)('rejects %s', async (_, form, status, error) => {
  expect(await introspect(form)).toMatchObject({ status, body: { error } })
  expect(auth.audited).toMatchObject([{ interaction: 'introspect', status, outcome: error }])
})

it('returns 500 if revocations cannot be read', async () => {
  const token = await tokenOf('app')
  const broken = await createAuthorization({ choices: { tenancy: true } })
  await broken.addClient('app')
  broken.keys.list = () => auth.keys.list()
  broken.revocations.revoked = async () => {
    throw new Error('down')
  }
  expect(await broken.ask('POST', '/auth/introspect', { form: { ...AS('app'), token } })).toMatchObject({
    status: 500,
    body: { error: 'server_error' },
  })
})
