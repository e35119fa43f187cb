/** Specification 5.2 and 7: the token endpoint as clients that ask for themselves meet it. */
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { BASE_URL, CLIENT_SECRET, claimsOf, createAuthorization, START_TIME, type TestAuthorization } from '../authorization.ts'

let auth: TestAuthorization

const FORM = { client_id: 'app', client_secret: CLIENT_SECRET, grant_type: 'client_credentials' }
const token = (form: Record<string, string> | string, headers: Record<string, string> = {}) =>
  auth.ask('POST', '/auth/token', { form, headers })
const basic = (id: string, secret: string) => ({ authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` })

/** Distinct granular scopes of one type. */
const conditions = (count: number, type: string): string => Array.from({ length: count }, (_, i) => `system/${type}.rs?_id=${i}`).join(' ')

beforeAll(async () => {
  auth = await createAuthorization()
  await auth.addClient('app', { scopes: ['system/*.rs', 'patient/*.read', 'launch/patient', 'system/admin'] })
  await auth.addClient('open', { authentication: { kind: 'public' } })
  await auth.addClient('of-one', { patient: 'Patient/1', tenants: ['default'] })
})

beforeEach(() => void auth.audited.splice(0))

describe('a token', () => {
  it('comes with every field and no-store headers', async () => {
    const { status, headers, body } = await token({ ...FORM, scope: 'system/Observation.rs patient/*.read launch/patient' })
    expect(status).toBe(200)
    expect(headers).toMatchObject({ 'cache-control': 'no-store', pragma: 'no-cache', 'content-type': 'application/json; charset=utf-8' })
    expect(body).toEqual({
      access_token: expect.any(String),
      expires_in: 3_600,
      refresh_expires_in: 0,
      token_type: 'Bearer',
      'not-before-policy': 0,
      session_state: expect.any(String),
      scope: 'system/Observation.rs patient/*.read launch/patient',
    })
    expect(auth.audited).toMatchObject([{ interaction: 'token', client: 'app', status: 200, outcome: 'client_credentials' }])
  })

  it('is signed with the published key, and names client and address', async () => {
    const { body } = await token({ ...FORM, scope: 'system/Observation.rs' })
    const jwks = await auth.ask('GET', '/auth/jwks')
    const { payload, protectedHeader } = await jwtVerify(body.access_token, createLocalJWKSet(jwks.body), {
      currentDate: new Date(START_TIME),
      issuer: BASE_URL,
      audience: BASE_URL,
      algorithms: ['RS256'],
    })
    expect(protectedHeader).toEqual({ alg: 'RS256', typ: 'JWT', kid: jwks.body.keys[0].kid })
    expect(payload).toEqual({
      iss: BASE_URL,
      aud: BASE_URL,
      sub: 'app',
      iat: START_TIME / 1000,
      exp: START_TIME / 1000 + 3_600,
      jti: expect.any(String),
      typ: 'Bearer',
      azp: 'app',
      client_id: 'app',
      scope: 'system/Observation.rs',
      sid: body.session_state,
      session_state: body.session_state,
      acr: '1',
      client_auth: 'secret',
      clientId: 'app',
      clientHost: '192.0.2.1',
      clientAddress: '192.0.2.1',
    })
  })

  it('holds the consistency that the client is registered with', async () => {
    const consistencyOf = async (id: string) => claimsOf((await token({ ...FORM, client_id: id })).body.access_token).consistency
    await auth.addClient('strong', { consistency: 'strong' })
    expect([await consistencyOf('app'), await consistencyOf('strong')]).toEqual([undefined, 'strong'])
  })

  it('holds the registered scopes by default, except system/admin', async () => {
    expect((await token(FORM)).body.scope).toBe('system/*.rs patient/*.read launch/patient')
    expect((await token({ ...FORM, scope: 'system/admin' })).body.scope).toBe('system/admin')
  })

  it('is narrowed to the registered scopes', async () => {
    expect((await token({ ...FORM, scope: 'system/*.cruds system/Nothing.rs openid offline_access what' })).body.scope).toBe('system/*.rs')
  })

  it('holds 20 scopes with a condition for each type', async () => {
    const scope = `${conditions(20, 'Observation')} ${conditions(20, 'Condition')} system/Observation.rs`
    expect((await token({ ...FORM, scope })).body.scope).toBe(scope)
  })

  it('never holds user scopes', async () => {
    await auth.addClient('of-users', { scopes: ['user/*.cruds'] })
    await auth.addClient('of-both', { scopes: ['user/*.cruds', 'system/Observation.rs', 'openid'] })
    const of = async (id: string, more = {}) => {
      const { body } = await token({ ...FORM, client_id: id, ...more })
      return body.scope ?? body.error
    }
    expect([await of('of-users'), await of('of-users', { scope: 'user/*.rs' })]).toEqual(['invalid_scope', 'invalid_scope'])
    expect([await of('of-both'), await of('of-both', { scope: 'user/*.rs system/*.rs' })]).toEqual(Array(2).fill('system/Observation.rs'))
  })

  it('is limited to the patient of the client', async () => {
    const { body } = await token({ ...FORM, client_id: 'of-one' })
    expect([body.patient, claimsOf(body.access_token).patient]).toEqual(['1', '1'])
  })

  it('requires a single tenant if it is limited to a patient', async () => {
    const many = await createAuthorization({ choices: { tenancy: true } })
    await many.addClient('of-one', { patient: 'Patient/1', tenants: ['a'] })
    await many.addClient('of-two', { patient: 'Patient/1', tenants: ['a', 'b'] })
    await many.addClient('of-any', { patient: 'Patient/1', tenants: ['*'] })
    const of = async (id: string) => (await many.ask('POST', '/auth/token', { form: { ...FORM, client_id: id } })).body.error
    expect([await of('of-one'), await of('of-two'), await of('of-any')]).toEqual([undefined, 'unauthorized_client', 'unauthorized_client'])
  })

  it('is issued without tenancy only to clients of the default tenant', async () => {
    const one = await createAuthorization()
    for (const [id, tenants] of [
      ['of-a', ['a']],
      ['of-both', ['a', 'default']],
      ['of-any', ['*']],
    ] as const)
      await one.addClient(id, { tenants })
    const of = async (id: string) => (await one.ask('POST', '/auth/token', { form: { ...FORM, client_id: id } })).body
    expect([(await of('of-both')).error, (await of('of-any')).error]).toEqual([undefined, undefined])
    expect(await of('of-a')).toEqual({ error: 'unauthorized_client', error_description: expect.stringContaining('FHIR_TENANCY') })
  })

  it('names the tenants of the client if tenancy is on', async () => {
    const many = await createAuthorization({ choices: { tenancy: true, tenantClaim: 'org' } })
    await many.addClient('one', { tenants: ['a'] })
    await many.addClient('two', { tenants: ['a', 'b'] })
    await many.addClient('any', { tenants: ['a', '*'] })
    const of = async (id: string) =>
      claimsOf((await many.ask('POST', '/auth/token', { form: { ...FORM, client_id: id } })).body.access_token).org
    expect([await of('one'), await of('two'), await of('any')]).toEqual(['a', ['a', 'b'], '*'])
  })
})

describe('client authentication', () => {
  it('accepts Basic with both parts form-encoded', async () => {
    const { client_secret, client_id, ...form } = FORM
    expect((await token(form, basic(client_id, client_secret))).status).toBe(200)
    expect((await token(form, basic('%61pp', 'the%2Dsecret-of-a-client'))).status).toBe(200)
    expect((await token({ ...form, client_id }, basic(client_id, client_secret))).status).toBe(200)
  })

  const wrong: readonly (readonly [string, Record<string, string> | string, Record<string, string>, number, string])[] = [
    ['a wrong secret', { ...FORM, client_secret: 'wrong' }, {}, 401, 'invalid_client'],
    ['a wrong secret by Basic', { grant_type: 'client_credentials' }, basic('app', 'wrong'), 401, 'invalid_client'],
    ['an unknown client', { ...FORM, client_id: 'nobody' }, {}, 400, 'invalid_client'],
    ['no client', { grant_type: 'client_credentials' }, {}, 400, 'invalid_request'],
    ['no secret', { client_id: 'app', grant_type: 'client_credentials' }, {}, 400, 'invalid_client'],
    ['an empty secret', { ...FORM, client_secret: '' }, {}, 400, 'invalid_client'],
    ['two ways at once', FORM, basic('app', CLIENT_SECRET), 400, 'invalid_request'],
    ['two names', { client_id: 'open', grant_type: 'client_credentials' }, basic('app', CLIENT_SECRET), 400, 'invalid_request'],
    ['a secret beside an assertion', { ...FORM, client_assertion: 'a.b.c' }, {}, 400, 'invalid_request'],
    ['another scheme', { grant_type: 'client_credentials' }, { authorization: 'Bearer abc' }, 400, 'invalid_request'],
    ['a broken Basic', { grant_type: 'client_credentials' }, { authorization: 'Basic YXBw' }, 400, 'invalid_request'],
    ['no grant type', { client_id: 'app', client_secret: CLIENT_SECRET }, {}, 400, 'invalid_request'],
    ['an unknown grant type', { ...FORM, grant_type: 'password' }, {}, 400, 'unsupported_grant_type'],
    ['a grant type of all objects', { ...FORM, grant_type: 'constructor' }, {}, 400, 'unsupported_grant_type'],
    ['a field twice', `${new URLSearchParams(FORM)}&scope=a&scope=b`, {}, 400, 'invalid_request'],
    ['another type of body', FORM, { 'content-type': 'application/json' }, 400, 'invalid_request'],
    ['too many fields', 'a=1&'.repeat(300), {}, 400, 'invalid_request'],
    ['a public client', { ...FORM, client_id: 'open', client_secret: '' }, {}, 400, 'unauthorized_client'],
    ['a public client with a secret', { ...FORM, client_id: 'open' }, {}, 401, 'invalid_client'],
    ['scopes that are not registered', { ...FORM, scope: 'user/*.rs' }, {}, 400, 'invalid_scope'],
    ['too many conditions for a type', { ...FORM, scope: conditions(21, 'Observation') }, {}, 400, 'invalid_scope'],
    [
      'too many conditions with those of *',
      { ...FORM, scope: `${conditions(20, 'Observation')} ${conditions(1, '*')}` },
      {},
      400,
      'invalid_scope',
    ],
    ['scopes that are too long', { ...FORM, scope: 'system/*.rs '.repeat(300) }, {}, 400, 'invalid_scope'],
  ]

  it.each(wrong)('rejects %s', async (_, form, headers, status, code) => {
    const answer = await token(form, headers)
    expect([answer.status, answer.body]).toEqual([status, { error: code, error_description: expect.any(String) }])
    expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', pragma: 'no-cache' })
    expect(answer.headers['www-authenticate']).toBe(status === 401 ? `Basic realm="${BASE_URL}"` : undefined)
    expect(answer.text).not.toContain(CLIENT_SECRET)
    expect(auth.audited).toMatchObject([{ interaction: 'token', status, outcome: code }])
  })

  it('throttles guesses at a secret, and never the right secret', async () => {
    const guessed = await createAuthorization()
    await guessed.addClient('app')
    const guess = async (client_secret: string, address = '192.0.2.9') => {
      const { status, headers } = await guessed.ask('POST', '/auth/token', { form: { ...FORM, client_secret }, address })
      return headers['retry-after'] === undefined ? status : `${status} ${headers['retry-after']}`
    }
    const answers: unknown[] = []
    for (let i = 0; i < 12; i++) answers.push(await guess(`${i}`))
    expect(answers).toEqual([...Array(10).fill(401), '429 1', '429 1'])
    guessed.later(1_000)
    expect([await guess('again'), await guess('and again'), await guess('other', '192.0.2.8')]).toEqual([401, '429 2', 401])
    expect([await guess(CLIENT_SECRET), await guess(CLIENT_SECRET, '192.0.2.8')]).toEqual([200, 200])
    const many = await Promise.all(Array.from({ length: 200 }, (_, i) => guess(i % 10 === 0 ? CLIENT_SECRET : `${i}`)))
    expect(many.filter((answer) => answer === 200)).toHaveLength(20)
    expect(guessed.audited.filter(({ status }) => status === 429).length).toBeGreaterThan(100)
  })
})

describe('requests beside the token endpoint', () => {
  it.each([
    ['GET', '/auth/token', 405],
    ['GET', '/auth/nothing', 404],
    ['POST', '/auth', 404],
    ['GET', '/auth/token/more', 404],
    ['POST', '/auth/a/b/c/d/e', 404],
    ['GET', '/.well-known/nothing', 404],
  ])('%s %s is rejected with an OAuth error', async (method, path, status) => {
    const { status: got, body, headers } = await auth.ask(method, path)
    expect([got, body]).toEqual([status, { error: 'invalid_request', error_description: expect.any(String) }])
    expect(headers['cache-control']).toBe('no-store')
    expect(headers.allow).toBe(status === 405 ? 'POST, OPTIONS' : undefined)
  })

  it('are answered 413 for long bodies and 500 for a machine fault', async () => {
    expect(await token('a'.repeat(70_000))).toMatchObject({ status: 413, body: { error: 'invalid_request' } })
    const broken = await createAuthorization()
    broken.ports.keys.list = async () => {
      throw new Error('the secret of a broken machine')
    }
    await broken.addClient('app')
    const { status, body, text } = await broken.ask('POST', '/auth/token', { form: FORM })
    expect([status, body.error, body.error_description]).toEqual([500, 'server_error', expect.stringContaining('request-1')])
    expect([text.includes('broken machine'), broken.reported.length]).toEqual([false, 1])
  })
})
