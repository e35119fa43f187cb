/** Codes, refresh tokens and ID tokens: what they give, once, and what using them twice takes away. */
import { createHash } from 'node:crypto'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { fingerprintOf } from '../../lambdas/auth/random-secret.ts'
import { MachineFault } from '../../lambdas/ports/faults.ts'
import {
  type AuthorizationSettings,
  BASE_URL,
  CLIENT_SECRET,
  claimsOf,
  createAuthorization,
  START_TIME,
  type TestAuthorization,
  type TestResponse,
} from './authorization.ts'
import { allowAccess, logIn, openBrowser, redirectOf } from './browser.ts'

const BACK = 'https://app.example/back'
const AS = { client_id: 'app', client_secret: CLIENT_SECRET }
const SCOPES = [
  'openid',
  'fhirUser',
  'profile',
  'offline_access',
  'online_access',
  'patient/*.rs',
  'user/*.cruds',
  'system/*.rs',
  'system/admin',
]

let auth: TestAuthorization

async function started(settings: AuthorizationSettings = {}): Promise<TestAuthorization> {
  const made = await createAuthorization(settings)
  await made.addClient('app', { redirectUris: [BACK], scopes: SCOPES })
  await made.addClient('other', { redirectUris: [BACK], scopes: SCOPES })
  await made.addClient('native', { redirectUris: [BACK], scopes: SCOPES, authentication: { kind: 'public' } })
  await made.addUser('ann', { fhirUser: 'Practitioner/7', scopes: ['user/Observation.rs', 'user/Patient.rs'] })
  return made
}

beforeEach(async () => {
  auth = await started()
})

/** A code for these scopes, and the browser that got it. */
async function codeFor(scope: string, more: Record<string, string> = {}) {
  const user = openBrowser(auth)
  const asked = { response_type: 'code', client_id: 'app', redirect_uri: BACK, aud: BASE_URL, scope, prompt: 'consent', ...more }
  const page = await logIn(user, await user.open('/auth/authorize', asked), 'ann')
  const { sent } = redirectOf(await allowAccess(user, page))
  return { user, code: sent.code! }
}

const send = (form: Record<string, string>): Promise<TestResponse> => auth.ask('POST', '/auth/token', { form })
const exchange = (code: string, more: Record<string, string> = {}) =>
  send({ ...AS, grant_type: 'authorization_code', code, redirect_uri: BACK, ...more })
const refresh = (refresh_token: string, more: Record<string, string> = {}) =>
  send({ ...AS, grant_type: 'refresh_token', refresh_token, ...more })
const isActive = async (token: string): Promise<boolean> =>
  (await auth.ask('POST', '/auth/introspect', { form: { ...AS, token } })).body.active

const INVALID = { status: 400, body: { error: 'invalid_grant' } }

it('a patient user of several tenants gets no code, and no tokens by refresh', async () => {
  auth = await started({ choices: { tenancy: true } })
  const of = (tenants: readonly string[]) => auth.addUser('ann', { fhirUser: 'Patient/7', scopes: ['user/*.rs'], tenants })
  await of(['a'])
  const { user, code } = await codeFor('offline_access user/*.rs')
  const { body } = await exchange(code)
  expect(claimsOf(body.access_token).tenant).toBe('a')
  const asked = { response_type: 'code', client_id: 'app', redirect_uri: BACK, aud: BASE_URL, scope: 'user/*.rs' }
  for (const tenants of [['*'], ['a', 'b']]) {
    await of(tenants)
    expect(await refresh(body.refresh_token)).toMatchObject(INVALID)
    expect(redirectOf(await user.open('/auth/authorize', asked)).sent.error).toBe('access_denied')
  }
  await of(['a'])
  expect((await refresh(body.refresh_token)).status).toBe(200)
})

describe('a code', () => {
  it('yields tokens for the user, with every field', async () => {
    const { code } = await codeFor('openid fhirUser offline_access user/*.cruds', { nonce: 'n-1' })
    const { status, body, headers } = await exchange(code)
    expect([status, headers['cache-control'], headers.pragma]).toEqual([200, 'no-store', 'no-cache'])
    expect(body).toEqual({
      access_token: expect.any(String),
      id_token: expect.any(String),
      refresh_token: expect.any(String),
      expires_in: 3_600,
      refresh_expires_in: 7_948_800,
      token_type: 'Bearer',
      'not-before-policy': 0,
      session_state: expect.any(String),
      scope: 'openid fhirUser offline_access user/Observation.rs user/Patient.rs',
    })
    expect(claimsOf(body.access_token)).toEqual({
      iss: BASE_URL,
      aud: BASE_URL,
      sub: 'subject-of-ann',
      iat: START_TIME / 1000,
      exp: START_TIME / 1000 + 3_600,
      jti: expect.any(String),
      typ: 'Bearer',
      azp: 'app',
      client_id: 'app',
      scope: body.scope,
      sid: body.session_state,
      session_state: body.session_state,
      acr: '1',
      client_auth: 'secret',
      preferred_username: 'ann',
      fhirUser: 'Practitioner/7',
    })
    expect(auth.audited.at(-1)).toMatchObject({
      interaction: 'token',
      client: 'app',
      user: 'ann',
      outcome: 'authorization_code',
      status: 200,
    })
  })

  it('never exceeds the scopes of the user, and never grants system scopes', async () => {
    const { code } = await codeFor('user/Observation.rs user/Encounter.rs system/*.rs system/admin')
    expect((await exchange(code)).body.scope).toBe('user/Observation.rs')
    await auth.addUser('ann', { fhirUser: 'Practitioner/7', scopes: ['system/*.cruds'] })
    const another = await codeFor('user/Observation.rs system/*.rs')
    expect((await exchange(another.code)).body.scope).toBe('user/Observation.rs')
  })

  it('is valid once; a second use revokes the tokens it yielded', async () => {
    const { code } = await codeFor('offline_access user/*.rs')
    const { body } = await exchange(code)
    expect(await isActive(body.access_token)).toBe(true)
    auth.later(60_000)
    expect(await exchange(code)).toMatchObject(INVALID)
    expect(await isActive(body.access_token)).toBe(false)
    expect(await refresh(body.refresh_token)).toMatchObject(INVALID)
  })

  it('yields at most one response with tokens for concurrent uses, all revoked', async () => {
    const { code } = await codeFor('offline_access user/*.rs')
    const answers = await Promise.all(Array.from({ length: 5 }, () => exchange(code)))
    const given = answers.filter(({ status }) => status === 200)
    expect(given.length).toBeLessThanOrEqual(1)
    for (const { body } of given)
      expect([await isActive(body.access_token), (await refresh(body.refresh_token)).status]).toEqual([false, 400])
  })

  it('expires after ten minutes', async () => {
    const [early, late] = [await codeFor('user/*.rs'), await codeFor('user/Patient.rs')]
    auth.later(599_999)
    expect((await exchange(early.code)).status).toBe(200)
    auth.later(1)
    expect(await exchange(late.code)).toMatchObject(INVALID)
  })

  it('is valid only for its client and its redirect_uri', async () => {
    const { code } = await codeFor('user/*.rs')
    expect(await exchange(code, { client_id: 'other' })).toMatchObject(INVALID)
    const elsewhere = { error: 'invalid_grant', error_description: 'redirect_uri is not that of the authorization request' }
    expect(await exchange(code, { redirect_uri: `${BACK}/` })).toMatchObject({ status: 400, body: elsewhere })
    expect(await exchange(code, { redirect_uri: '' })).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    expect(await exchange('unknown')).toMatchObject(INVALID)
    expect(await exchange('')).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    expect((await exchange(code)).status).toBe(200)
  })

  it('is rejected after user or client are removed or revoked, as are refresh tokens', async () => {
    const gone = async (change: () => Promise<unknown>) => {
      auth = await started()
      const { code } = await codeFor('user/*.rs offline_access')
      const { code: later } = await codeFor('user/*.rs offline_access')
      const { body } = await exchange(later)
      await change()
      expect([(await exchange(code)).body.error, (await refresh(body.refresh_token)).body.error]).toEqual([
        'invalid_grant',
        'invalid_grant',
      ])
    }
    await gone(() => auth.users.change('ann', () => undefined))
    await gone(() => auth.users.change('ann', (user) => ({ ...user!, subject: 'another' })))
    await gone(() => auth.revocations.revoke({ mark: 'user:subject-of-ann', before: START_TIME, until: START_TIME * 2 }))
    await gone(() => auth.revocations.revoke({ mark: 'client:app', before: START_TIME, until: START_TIME * 2 }))
  })

  it('is valid for a public client by client_id alone', async () => {
    const { code } = await codeFor('user/*.rs offline_access', { client_id: 'native' })
    const { status, body } = await send({ client_id: 'native', grant_type: 'authorization_code', code, redirect_uri: BACK })
    expect([status, claimsOf(body.access_token).client_auth]).toEqual([200, 'none'])
    expect((await send({ client_id: 'native', grant_type: 'refresh_token', refresh_token: body.refresh_token })).status).toBe(200)
  })
})

describe('PKCE', () => {
  const verifier = 'a-verifier.of~43_characters-or-more-0123456789'
  const challenge = { code_challenge: createHash('sha256').update(verifier).digest('base64url'), code_challenge_method: 'S256' }

  it('requires the verifier for a code with a challenge', async () => {
    const { code } = await codeFor('user/*.rs', challenge)
    const wrong = async (more: Record<string, string>) => {
      const { status, body } = await exchange(code, more)
      return [status, body.error, body.error_description]
    }
    const invalid = (why: string) => [400, 'invalid_grant', `code_verifier ${why}`]
    expect(await wrong({})).toEqual(invalid('is missing: the authorization request had a code_challenge'))
    expect(await wrong({ code_verifier: `${verifier}x` })).toEqual(invalid('does not fit the code_challenge'))
    for (const none of ['short', `${verifier} `, 'x'.repeat(129)])
      expect(await wrong({ code_verifier: none })).toEqual(invalid('has 43 to 128 characters: letters, digits and -._~'))
    expect((await exchange(code, { code_verifier: verifier })).status).toBe(200)
  })

  it('rejects a malformed verifier, even if it matches the challenge', async () => {
    for (const none of ['a'.repeat(42), 'a'.repeat(129), `${'a'.repeat(50)} b`]) {
      const code_challenge = createHash('sha256').update(none).digest('base64url')
      const { code } = await codeFor('user/*.rs', { ...challenge, code_challenge })
      expect([none, (await exchange(code, { code_verifier: none })).status]).toEqual([none, 400])
    }
  })

  it('rejects a verifier for a code without a challenge', async () => {
    const { code } = await codeFor('user/*.rs')
    expect(await exchange(code, { code_verifier: '' })).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    const error_description = 'code_verifier was sent, but the authorization request had no code_challenge'
    expect(await exchange(code, { code_verifier: verifier })).toMatchObject({
      ...INVALID,
      body: { error: 'invalid_grant', error_description },
    })
  })

  it('is ignored if it is off', async () => {
    auth = await started({ choices: { pkce: 'off' } })
    const { code } = await codeFor('user/*.rs', challenge)
    expect((await exchange(code, { code_verifier: 'anything' })).status).toBe(200)
  })
})

describe('a refresh token', () => {
  const refreshable = async (scope = 'openid offline_access user/*.rs'): Promise<TestResponse['body']> =>
    (await exchange((await codeFor(scope)).code)).body

  it('yields new tokens of the same session, and the next refresh token', async () => {
    const first = await refreshable()
    auth.later(10_000)
    const { status, body } = await refresh(first.refresh_token)
    expect([status, body.scope, body.session_state, body.refresh_token === first.refresh_token]).toEqual([
      200,
      first.scope,
      first.session_state,
      false,
    ])
    expect([claimsOf(body.access_token).sid, await isActive(first.access_token), await isActive(body.access_token)]).toEqual([
      first.session_state,
      true,
      true,
    ])
    expect((await refresh(body.refresh_token)).status).toBe(200)
    expect(auth.audited.filter(({ outcome, user }) => outcome === 'refresh_token' && user === 'ann')).toHaveLength(2)
  })

  it('yields tokens for the patients that the user acts for at that time', async () => {
    await auth.addUser('ann', { fhirUser: 'RelatedPerson/9', scopes: ['user/*.rs'] })
    auth.acting.set('RelatedPerson/9', ['p-1'])
    const first = await refreshable()
    expect(claimsOf(first.access_token).acts_for).toEqual(['p-1'])
    auth.acting.set('RelatedPerson/9', ['p-2'])
    const second = (await refresh(first.refresh_token)).body
    expect(claimsOf(second.access_token).acts_for).toEqual(['p-2'])
  })

  it.each([
    ['RelatedPerson/9', []],
    ['RelatedPerson/9', ['p-2']],
    ['Patient/p-1', []],
  ])('is rejected for %s in the context of p-1 while it acts for %j', async (fhirUser, patients) => {
    auth = await started({ patients: [{ id: 'p-1', name: 'Paul' }] })
    await auth.addUser('ann', { fhirUser, scopes: ['patient/*.rs'] })
    auth.acting.set(fhirUser, ['p-1'])
    const first = await refreshable('offline_access patient/*.rs')
    expect(first.patient).toBe('p-1')
    auth.acting.set(fhirUser, patients)
    expect(await refresh(first.refresh_token)).toMatchObject(INVALID)
    auth.acting.set(fhirUser, ['p-1'])
    expect((await refresh(first.refresh_token)).status).toBe(200)
  })

  it('is stored once per grant, however often it is renewed', async () => {
    const first = await refreshable()
    let token: string = first.refresh_token
    for (let i = 0; i < 5; i++) token = (await refresh(token)).body.refresh_token
    await refreshable()
    const listed = await auth.grants.listOf('refresh', 'subject-of-ann app')
    expect(new Set(listed.map(({ value }) => (value as { readonly grant: { readonly sid: string } }).grant.sid)).size).toBe(2)
    expect(listed).toHaveLength(2)
  })

  it('identifies its public client, but not a client with a secret', async () => {
    const { code } = await codeFor('offline_access user/*.rs', { client_id: 'native' })
    const { body } = await exchange(code, { client_id: 'native', client_secret: '' })
    const alone = (token: string) => send({ grant_type: 'refresh_token', refresh_token: token })
    expect((await alone(body.refresh_token)).status).toBe(200)
    const { refresh_token } = await refreshable()
    expect(await alone(refresh_token)).toMatchObject({ status: 400, body: { error: 'invalid_client' } })
    expect(await alone('unknown')).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  })

  it('revokes all tokens of its grant if it is reused, the newest ones included', async () => {
    const first = await refreshable()
    const { body: second } = await refresh(first.refresh_token)
    expect(await refresh(first.refresh_token)).toMatchObject(INVALID)
    expect(await refresh(second.refresh_token)).toMatchObject(INVALID)
    expect([await isActive(first.access_token), await isActive(second.access_token)]).toEqual([false, false])
  })

  it('yields tokens at most once for concurrent uses, and all are revoked', async () => {
    const first = await refreshable()
    const answers = await Promise.all(Array.from({ length: 5 }, () => refresh(first.refresh_token)))
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1)
    for (const { body, status } of answers) if (status === 200) expect(await isActive(body.access_token)).toBe(false)
  })

  it('may be used for fewer scopes, never more; the next one has all again', async () => {
    const first = await refreshable('offline_access user/Patient.rs user/Observation.rs')
    const { body } = await refresh(first.refresh_token, { scope: 'user/Patient.r' })
    expect(body.scope).toBe('user/Patient.r')
    for (const more of ['user/Encounter.rs', 'user/Patient.rs openid', 'what'])
      expect(await refresh(body.refresh_token, { scope: more })).toMatchObject({ status: 400, body: { error: 'invalid_scope' } })
    expect((await refresh(body.refresh_token)).body.scope).toBe(first.scope)
  })

  it('yields the scopes that client and user have now', async () => {
    const first = await refreshable('offline_access user/Patient.rs user/Observation.rs')
    await auth.users.change('ann', (user) => ({ ...user!, scopes: ['user/Patient.r'] }))
    const { body } = await refresh(first.refresh_token)
    expect(body.scope).toBe('offline_access user/Patient.r')
    await auth.addClient('app', { scopes: ['offline_access'] })
    expect((await refresh(body.refresh_token)).body.scope).toBe('offline_access')
  })

  it('requires offline_access or online_access of its client, also for a code', async () => {
    const { code } = await codeFor('offline_access user/*.rs')
    const first = await refreshable('offline_access online_access user/*.rs')
    const without = (...taken: string[]) =>
      auth.addClient('app', { redirectUris: [BACK], scopes: SCOPES.filter((each) => !taken.includes(each)) })
    await without('offline_access', 'online_access')
    expect(await refresh(first.refresh_token)).toMatchObject(INVALID)
    const { body } = await exchange(code)
    expect([body.scope, body.refresh_token]).toEqual(['user/Observation.rs user/Patient.rs', undefined])
    await without('offline_access')
    expect((await refresh(first.refresh_token)).body).toMatchObject({
      refresh_expires_in: 43_200,
      scope: expect.not.stringContaining('offline'),
    })
  })

  it('replaces the previous one in one row, and detects its reuse after months', async () => {
    const first = await refreshable()
    const { size } = auth.grants
    let newest = first
    for (let month = 0; month < 12; month++) {
      auth.later(30 * 86_400_000)
      newest = (await refresh(newest.refresh_token)).body
    }
    expect(auth.grants.size).toBe(size)
    expect(await refresh(first.refresh_token)).toMatchObject(INVALID)
    expect([await isActive(newest.access_token), (await refresh(newest.refresh_token)).status]).toEqual([false, 400])
  })

  it('stays valid, as does a code, if the next one cannot be stored', async () => {
    const { code } = await codeFor('offline_access user/*.rs')
    const failing = async (work: () => Promise<TestResponse>) => {
      const { add, replace } = auth.grants
      const fail = async () => Promise.reject(new MachineFault('unavailable', 'full'))
      Object.assign(auth.grants, { add: fail, replace: fail })
      const { status, body, headers } = await work()
      Object.assign(auth.grants, { add, replace })
      expect([status, headers['retry-after'], Object.keys(body), body.error]).toEqual([
        ...[503, '5', ['error', 'error_description'], 'temporarily_unavailable'],
      ])
    }
    await failing(() => exchange(code))
    const { body } = await exchange(code)
    await failing(() => refresh(body.refresh_token))
    expect((await refresh(body.refresh_token)).status).toBe(200)
  })

  it('stays valid, as does a code, if a token cannot be signed', async () => {
    const { code } = await codeFor('openid offline_access user/*.rs')
    const failing = async (work: () => Promise<TestResponse>) => {
      const { sign } = auth.keys
      let signed = 0
      // The second is the ID token.
      for (const fails of [1, 2]) {
        Object.assign(auth.keys, {
          sign: async (...asked: Parameters<typeof sign>) =>
            ++signed === fails ? Promise.reject(new Error('broken')) : sign.apply(auth.keys, asked),
        })
        expect((await work()).status).toBe(500)
        signed = 0
      }
      Object.assign(auth.keys, { sign })
    }
    await failing(() => exchange(code))
    const { body } = await exchange(code)
    await failing(() => refresh(body.refresh_token))
    expect([(await refresh(body.refresh_token)).status, await isActive(body.access_token)]).toEqual([200, true])
  })

  it('is valid once in the older storage format, and gets a current successor', async () => {
    const first = await refreshable()
    const [kept] = await auth.grants.listOf('refresh', 'subject-of-ann app')
    const { grant, issuedAt } = kept!.value as { readonly grant: object; readonly issuedAt: number }
    const old = async (key: string, used: boolean) =>
      auth.grants.add('refresh', fingerprintOf(key), { owner: 'subject-of-ann app', value: { grant, issuedAt, used } })
    await old('old', false)
    await old('used', true)
    expect(await refresh('old.x')).toMatchObject(INVALID)
    auth = await started()
    await old('old', false)
    const { body: next } = await refresh('old')
    expect((await refresh(next.refresh_token)).status).toBe(200)
    expect(await refresh('old')).toMatchObject(INVALID)
    expect(await isActive(next.access_token)).toBe(false)
    await old('used', true)
    expect(await refresh('used')).toMatchObject(INVALID)
    expect(first.refresh_token).toMatch(/^[\w-]{43}\.[\w-]{43}$/)
  })

  it('grants the tenants that client and user have now', async () => {
    auth = await started({ choices: { tenancy: true } })
    await auth.addUser('ann', { tenants: ['a', 'b'] })
    const first = await refreshable()
    const tenantsAfter = async (token: string, tenants: readonly string[]) => {
      await auth.users.change('ann', (user) => ({ ...user!, tenants }))
      return (await refresh(token)).body
    }
    const second = await tenantsAfter(first.refresh_token, ['b', 'c'])
    expect([claimsOf(first.access_token).tenant, claimsOf(second.access_token).tenant]).toEqual([['a', 'b'], 'b'])
    await auth.clients.change('app', (client) => ({ ...client!, tenants: ['a'] }))
    const third = await tenantsAfter(second.refresh_token, ['a', 'b'])
    expect(claimsOf(third.access_token).tenant).toBe('a')
    expect((await tenantsAfter(third.refresh_token, ['c'])).error).toBe('invalid_grant')
  })

  it('is invalid without tenancy for client or user of other tenants, or another grant', async () => {
    await auth.addUser('ann', { tenants: ['default', 'a'] })
    const { refresh_token } = await refreshable()
    await auth.users.change('ann', (user) => ({ ...user!, tenants: ['a'] }))
    expect(await refresh(refresh_token)).toMatchObject(INVALID)
    await auth.users.change('ann', (user) => ({ ...user!, tenants: ['default'] }))
    await auth.clients.change('app', (client) => ({ ...client!, tenants: ['a'] }))
    const told = { error: 'unauthorized_client', error_description: expect.stringContaining('FHIR_TENANCY') }
    expect((await refresh(refresh_token)).body).toEqual(told)
    await auth.clients.change('app', (client) => ({ ...client!, tenants: ['*'] }))
    expect((await refresh(refresh_token)).status).toBe(200)
    auth = await started({ choices: { tenancy: true } })
    await auth.addUser('ann', { tenants: ['a'] })
    const other = await refreshable()
    await auth.users.change('ann', (user) => ({ ...user!, tenants: ['*'] }))
    Object.assign(auth.ports.choices, { tenancy: false })
    expect(await refresh(other.refresh_token)).toMatchObject(INVALID)
    Object.assign(auth.ports.choices, { tenancy: true })
    expect((await refresh(other.refresh_token)).status).toBe(200)
  })

  it('is valid only for its client, and expires 92 days after its last use', async () => {
    const first = await refreshable()
    expect(await refresh(first.refresh_token, { client_id: 'other' })).toMatchObject(INVALID)
    auth.later(89 * 86_400_000)
    const { body } = await refresh(first.refresh_token)
    auth.later(92 * 86_400_000)
    expect(await refresh(body.refresh_token)).toMatchObject(INVALID)
  })

  it('is revoked by the logout in the browser if it has online_access', async () => {
    const { user, code } = await codeFor('online_access user/*.rs')
    const { body } = await exchange(code)
    expect(body.refresh_expires_in).toBe(43_200)
    const { body: second } = await refresh(body.refresh_token)
    await user.submit(await user.open('/auth/logout'))
    expect(await refresh(second.refresh_token)).toMatchObject(INVALID)
  })

  it('can be revoked by its client, with its access token', async () => {
    const first = await refreshable()
    const revoke = (client_id: string) => auth.ask('POST', '/auth/revoke', { form: { ...AS, client_id, token: first.refresh_token } })
    expect([(await revoke('other')).status, await isActive(first.access_token)]).toEqual([200, true])
    expect([(await revoke('app')).status, await isActive(first.access_token)]).toEqual([200, false])
    expect(await refresh(first.refresh_token)).toMatchObject(INVALID)
  })

  it('is issued only on request, and is not stored in plain text', async () => {
    const { body } = await exchange((await codeFor('user/*.rs')).code)
    expect([body.refresh_token, body.refresh_expires_in]).toEqual([undefined, 0])
    const { refresh_token } = await refreshable()
    const kept = await auth.grants.listOf('refresh', 'subject-of-ann app')
    expect([kept.length, JSON.stringify(kept).includes(refresh_token)]).toEqual([1, false])
  })
})

describe('an ID token', () => {
  const idToken = async (scope: string, more: Record<string, string> = {}) => (await exchange((await codeFor(scope, more)).code)).body

  it('names the user, the login time and the request', async () => {
    const body = await idToken('openid fhirUser profile', { nonce: 'n-1' })
    const jwks = (await auth.ask('GET', '/auth/jwks')).body
    const options = { issuer: BASE_URL, audience: 'app', algorithms: ['RS256'], currentDate: new Date(START_TIME) }
    const { payload } = await jwtVerify(body.id_token, createLocalJWKSet(jwks), options)
    expect(payload).toEqual({
      iss: BASE_URL,
      aud: 'app',
      sub: 'subject-of-ann',
      iat: START_TIME / 1000,
      exp: START_TIME / 1000 + 3_600,
      typ: 'ID',
      azp: 'app',
      sid: body.session_state,
      acr: '1',
      auth_time: START_TIME / 1000,
      at_hash: createHash('sha256').update(body.access_token).digest().subarray(0, 16).toString('base64url'),
      nonce: 'n-1',
      preferred_username: 'ann',
      fhirUser: `${BASE_URL}/Practitioner/7`,
    })
  })

  it('holds only granted claims, and is no access token', async () => {
    const body = await idToken('openid')
    const claims = claimsOf(body.id_token)
    expect([claims.fhirUser, claims.preferred_username, claims.nonce]).toEqual([undefined, undefined, undefined])
    expect(await isActive(body.id_token)).toBe(false)
    expect((await idToken('user/*.rs')).id_token).toBeUndefined()
  })

  it('describes the same login after a refresh, without the nonce', async () => {
    const first = await idToken('openid offline_access', { nonce: 'n-1' })
    auth.later(7_200_000)
    const { body } = await refresh(first.refresh_token)
    const claims = claimsOf(body.id_token)
    expect([claims.auth_time, claims.iat, claims.nonce, claims.sub, claims.acr]).toEqual([
      START_TIME / 1000,
      START_TIME / 1000 + 7_200,
      undefined,
      'subject-of-ann',
      '0',
    ])
  })
})
