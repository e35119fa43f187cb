/** Built-in client of the explorer: its login, and how an operator switches it off or replaces it. */
import { createHash } from 'node:crypto'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { type AdministrationPorts, addClient, removeClient } from '../../../lambdas/auth/administration/administration.ts'
import { EXPLORER_ID, explorerClientOf } from '../../../lambdas/auth/clients/explorer-client.ts'
import { Passwords } from '../../../lambdas/auth/login/passwords.ts'
import { type AuthorizationSettings, BASE_URL, CLIENT_SECRET, claimsOf, createAuthorization, type TestResponse } from '../authorization.ts'
import { type Browser, logIn, openBrowser } from '../browser.ts'

const CALLBACK = `${BASE_URL}/explorer/callback`
const SCOPE = 'openid fhirUser user/*.cruds system/admin'
const VERIFIER = 'v'.repeat(50)
const REQUEST = {
  response_type: 'code',
  client_id: 'explorer',
  redirect_uri: CALLBACK,
  scope: SCOPE,
  aud: BASE_URL,
  state: 'a state',
  nonce: 'a nonce',
  code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
  code_challenge_method: 'S256',
}
const DAY = 24 * 60 * 60 * 1000

async function opened(settings: AuthorizationSettings = {}) {
  const auth = await createAuthorization({ hasExplorer: true, ...settings })
  await auth.addUser('ann', { scopes: ['user/*.cruds', 'system/admin'], fhirUser: 'Practitioner/7' })
  await auth.addUser('reader', { scopes: ['user/Patient.rs'], fhirUser: 'Practitioner/8' })
  await auth.addUser('pat', { scopes: ['patient/*.rs'], fhirUser: 'Patient/2' })
  await auth.addClient('gateway', { mayIntrospect: true })
  const administration: AdministrationPorts = {
    ...{ clients: auth.clients, users: auth.users, revocations: auth.revocations, keys: auth.keys, clock: auth.clock },
    passwords: new Passwords({ N: 16, r: 8, p: 1 }),
    audit: { prepare: async () => undefined, record: async () => undefined, close: async () => undefined },
    operator: 'carol',
    wait: async (ms) => auth.later(ms),
  }
  return { auth, administration }
}

let auth: Awaited<ReturnType<typeof createAuthorization>>
let administration: AdministrationPorts
let user: Browser

async function open(settings: AuthorizationSettings = {}): Promise<void> {
  ;({ auth, administration } = await opened(settings))
  user = openBrowser(auth, settings.baseUrl)
}
beforeEach(() => open())

/** Returns the query that the browser took to the page of the explorer, or undefined if it was not sent there. */
function sentBack(callback = CALLBACK): Readonly<Record<string, string>> | undefined {
  const location = user.visited.findLast(({ headers }) => headers.location !== undefined)?.headers.location ?? ''
  return location.startsWith(`${callback}?`) ? Object.fromEntries(new URL(location).searchParams) : undefined
}

async function logInAs(name: string, more: Readonly<Record<string, string>> = {}, base?: string) {
  await logIn(user, await user.open('/auth/authorize', { ...REQUEST, ...more }), name)
  return sentBack(base === undefined ? undefined : `${base}/explorer/callback`)
}

const exchange = (code: string, more: Readonly<Record<string, string>> = {}): Promise<TestResponse> =>
  auth.ask('POST', '/auth/token', {
    form: { grant_type: 'authorization_code', client_id: 'explorer', code, redirect_uri: CALLBACK, code_verifier: VERIFIER, ...more },
  })

const tokensOf = async (name: string, more: Readonly<Record<string, string>> = {}) =>
  (await exchange((await logInAs(name, more))!.code!)).body

const isActive = async (token: string): Promise<boolean> =>
  (await auth.ask('POST', '/auth/introspect', { form: { client_id: 'gateway', client_secret: CLIENT_SECRET, token } })).body.active

describe('a login of the explorer', () => {
  it('needs a password, and no consent', async () => {
    const page = await user.open('/auth/authorize', REQUEST)
    expect([page.status, page.text.includes('Sign in'), page.text.includes('FHIR explorer')]).toEqual([200, true, true])
    await logIn(user, page, 'ann', 'wrong')
    expect(sentBack()).toBeUndefined()
    await logIn(user, page, 'ann')
    expect(sentBack()).toEqual({ code: expect.any(String), state: 'a state', iss: BASE_URL })
    expect(user.visited.filter(({ text }) => text.includes('Allow access'))).toEqual([])
  })

  it('shows no page in the same session, and returns login_required without a session', async () => {
    await user.open('/auth/authorize', { ...REQUEST, prompt: 'none' })
    expect(sentBack()).toMatchObject({ error: 'login_required', state: 'a state' })
    await logInAs('ann')
    const visits = user.visited.length
    await user.open('/auth/authorize', { ...REQUEST, prompt: 'none' })
    expect([user.visited.length - visits, sentBack()]).toEqual([2, { code: expect.any(String), state: 'a state', iss: BASE_URL }])
    auth.later(12 * 60 * 60 * 1000)
    await user.open('/auth/authorize', { ...REQUEST, prompt: 'none' })
    expect(sentBack()).toMatchObject({ error: 'login_required' })
  })

  it('is required again by prompt=login and max_age', async () => {
    await logInAs('ann')
    auth.later(10_000)
    for (const more of [{ prompt: 'login' }, { max_age: '5' }])
      expect((await user.open('/auth/authorize', { ...REQUEST, ...more })).text).toContain('Sign in')
  })

  it('gives a token without a refresh token, with the nonce in the ID token', async () => {
    const tokens = await tokensOf('ann')
    expect(Object.keys(tokens)).not.toContain('refresh_token')
    expect([tokens.expires_in <= 3_600, claimsOf(tokens.id_token).nonce]).toEqual([true, 'a nonce'])
    expect(claimsOf(tokens.access_token)).toMatchObject({ client_id: 'explorer', aud: BASE_URL, fhirUser: 'Practitioner/7' })
    expect(await isActive(tokens.access_token)).toBe(true)
  })

  it('needs the verifier of the challenge, and its code works once', async () => {
    const { code } = (await logInAs('ann'))!
    expect((await exchange(code!, { code_verifier: 'w'.repeat(50) })).status).toBe(400)
    expect((await exchange(code!, { redirect_uri: `${CALLBACK}/more` })).status).toBe(400)
    expect([(await exchange(code!)).status, (await exchange(code!)).status]).toEqual([200, 400])
  })

  it('needs a challenge if the server requires PKCE', async () => {
    await open({ choices: { pkce: 'require' } })
    const { code_challenge: _, code_challenge_method: __, ...plain } = REQUEST
    await user.open('/auth/authorize', plain)
    expect(sentBack()).toMatchObject({ error: 'invalid_request', error_description: 'code_challenge is missing' })
    await user.open('/auth/authorize', { ...plain, code_challenge: VERIFIER, code_challenge_method: 'plain' })
    expect(sentBack()).toMatchObject({ error: 'invalid_request' })
    expect(await logInAs('ann')).toMatchObject({ code: expect.any(String) })
  })

  it('gives no token for the client id alone', async () => {
    const form = { grant_type: 'client_credentials', client_id: 'explorer', scope: 'system/*.rs' }
    expect((await auth.ask('POST', '/auth/token', { form })).status).toBeGreaterThanOrEqual(400)
    expect((await auth.ask('POST', '/auth/introspect', { form: { client_id: 'explorer', token: 'x' } })).status).toBeGreaterThanOrEqual(400)
  })
})

describe('the scopes of a person', () => {
  it.each([
    ['ann', SCOPE],
    ['reader', 'openid fhirUser user/Patient.rs'],
    ['pat', 'openid fhirUser'],
  ])('bound those of the token: %s', async (name, scope) => {
    const tokens = await tokensOf(name)
    const granted = (tokens.scope as string).split(' ')
    expect(granted.filter((each) => !each.includes('patient/') && !each.startsWith('user/'))).toEqual(
      scope.split(' ').filter((each) => !each.startsWith('user/')),
    )
    if (name === 'reader') expect(granted).toEqual(scope.split(' '))
    expect(claimsOf(tokens.access_token).scope.split(' ').includes('system/admin')).toBe(name === 'ann')
  })

  it('are not extended by a scope that the client lacks', async () => {
    for (const extra of ['system/*.cruds', 'offline_access', 'launch/patient', 'online_access']) {
      await user.open('/auth/authorize', { ...REQUEST, scope: `${SCOPE} ${extra}` })
      const back = sentBack()
      if (back?.error === undefined) expect((await tokensOf('ann', { scope: `${SCOPE} ${extra}`, prompt: 'login' })).scope).toBe(SCOPE)
    }
  })

  it('need consent if the authorization request names a patient', async () => {
    await open({ patients: [{ id: '2', name: 'Bob' }] })
    await logInAs('ann')
    await user.open('/auth/authorize', { ...REQUEST, chosen_patient: '2', prompt: 'none' })
    expect(sentBack()).toMatchObject({ error: 'consent_required' })
  })
})

describe('another address', () => {
  it.each([
    'https://evil.example/explorer/callback',
    'https://fhir.example:8443/fhir/explorer/callback',
    'http://fhir.example/fhir/explorer/callback',
    `${CALLBACK}/`,
    `${CALLBACK}/more`,
    `${CALLBACK}?next=1`,
    `${CALLBACK}#x`,
    `${BASE_URL}/explorer`,
    `${BASE_URL}/explorer/callback/../../auth`,
    `${BASE_URL}/Explorer/callback`,
    'https://fhir.example@evil.example/fhir/explorer/callback',
    'http://127.0.0.1/explorer/callback',
    'com.example.explorer:/callback',
    '',
  ])('is refused, even in a session: %s', async (redirect_uri) => {
    await logInAs('ann')
    const page = await user.open('/auth/authorize', { ...REQUEST, redirect_uri, prompt: 'none' })
    expect([page.status, page.headers.location]).toEqual([400, undefined])
  })

  const PORTLESS = 'http://127.0.0.1/fhir'
  it.each(['http://127.0.0.1:9999/fhir/explorer/callback', 'http://127.0.0.1:81/fhir/explorer/callback'])(
    'gets no code without consent if the server has the port 80: %s',
    async (redirect_uri) => {
      await open({ baseUrl: PORTLESS })
      const request = { redirect_uri: `${PORTLESS}/explorer/callback`, aud: PORTLESS }
      expect(await logInAs('ann', request, PORTLESS)).toMatchObject({ code: expect.any(String) })
      const page = await user.open('/auth/authorize', { ...REQUEST, ...request, redirect_uri })
      expect([page.status === 303, page.headers.location]).toEqual([false, undefined])
      const { headers } = await user.open('/auth/authorize', { ...REQUEST, ...request, redirect_uri, prompt: 'none' })
      expect(headers.location ?? '').not.toContain('code=')
    },
  )

  it.each(['http://127.0.0.1:9999/fhir', 'http://localhost:8080/fhir'])(
    'with a port is refused if the server has one: %s',
    async (other) => {
      const base = 'http://127.0.0.1:8080/fhir'
      await open({ baseUrl: base })
      await logInAs('ann', { redirect_uri: `${base}/explorer/callback`, aud: base }, base)
      const page = await user.open('/auth/authorize', { ...REQUEST, aud: base, redirect_uri: `${other}/explorer/callback` })
      expect([page.status, page.headers.location]).toEqual([400, undefined])
    },
  )
})

describe('an operator', () => {
  it('switches the client off, which ends its tokens and codes for good', async () => {
    const { access_token: token } = await tokensOf('ann')
    await user.open('/auth/authorize', { ...REQUEST, prompt: 'none' })
    const { code } = sentBack()!
    await removeClient(administration, EXPLORER_ID)
    expect(await isActive(token)).toBe(false)
    expect((await exchange(code!)).status).toBeGreaterThanOrEqual(400)
    const page = await user.open('/auth/authorize', REQUEST)
    expect([page.status, page.headers.location]).toEqual([400, undefined])
    auth.later(4_000 * DAY)
    expect((await user.open('/auth/authorize', REQUEST)).status).toBe(400)
    await removeClient(administration, EXPLORER_ID)
  })

  it('replaces the client by another of its id, which needs consent and gets no older token', async () => {
    const { access_token: token } = await tokensOf('ann')
    await user.open('/auth/authorize', { ...REQUEST, prompt: 'none' })
    const { code } = sentBack()!
    auth.later(1_000)
    const { isExplorer: _, changedAt: __, ...registration } = explorerClientOf(BASE_URL)
    await addClient(administration, { ...registration, name: 'Another app', scopes: ['openid', 'user/*.rs'] })
    expect((await exchange(code!)).status).toBeGreaterThanOrEqual(400)
    expect((await user.open('/auth/authorize', { ...REQUEST, scope: 'openid user/*.rs' })).text).toContain('Allow access for Another app')
    await user.open('/auth/authorize', { ...REQUEST, scope: 'openid user/*.rs', prompt: 'none' })
    expect(sentBack()).toMatchObject({ error: 'consent_required' })
    expect(await isActive(token)).toBe(true)
    await removeClient(administration, EXPLORER_ID)
    expect(await isActive(token)).toBe(false)
    expect((await user.open('/auth/authorize', REQUEST)).status).toBe(400)
  })

  it('cannot register a client that skips the consent', async () => {
    await addClient(administration, explorerClientOf(BASE_URL))
    expect(await auth.clients.get('explorer')).not.toHaveProperty('isExplorer')
  })
})

describe('with tenancy', () => {
  it('the token has the tenants of the person', async () => {
    await open({ choices: { tenancy: true } })
    await auth.addUser('north', { scopes: ['user/*.cruds'], tenants: ['north'] })
    await auth.addUser('both', { scopes: ['user/*.cruds'], tenants: ['north', 'south'] })
    const tenantOf = async (name: string) => {
      user = openBrowser(auth)
      return claimsOf((await tokensOf(name)).access_token).tenant
    }
    expect([await tenantOf('north'), await tenantOf('both')]).toEqual(['north', ['north', 'south']])
  })

  it('a person of other tenants gets no token while tenancy is off', async () => {
    await auth.addUser('north', { tenants: ['north'] })
    expect(await logInAs('north')).toMatchObject({ error: 'access_denied' })
  })
})
