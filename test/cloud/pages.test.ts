/**
 * Login on the deployed functions, as a browser does it behind the gateway: pages, cookies, forms, redirects, and the access of the issued tokens.
 * Recorded with the files of test/api. @cloud:here
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { makeInvitation } from '../../lambdas/auth/clients/invitations.ts'
import { checkLaunch, makeLaunch } from '../../lambdas/auth/launch/launches.ts'
import { Passwords } from '../../lambdas/auth/login/passwords.ts'
import { clientOf, issuesOf, type Tree } from '../api/server.ts'
import { type AuthorizationServer, allowAccess, formsOf, logIn, openBrowser, redirectOf } from '../auth/browser.ts'
import { observation, patient } from '../fixtures/resources.ts'
import type { Credentials } from '../fixtures/token-provider.ts'
import { type Registry, register, registryOf } from './registry.ts'
import { runOnCloud } from './requested-deployment.ts'

const BACK = 'https://app.example/back?of=1'
const LAB = 'http://terminology.hl7.org/CodeSystem/observation-category|laboratory'
const SCOPES = ['openid', 'fhirUser', 'launch', 'launch/patient', 'offline_access', 'patient/*.rs', 'user/*.rs']
/** A lower cost than usual, as that of old password hashes. */
const OLD_COST = { N: 2 ** 12, r: 8, p: 1 }

runOnCloud('pages of a deployed authorization server', { here: true }, (cloud, { get, put }) => {
  const base = (): string => process.env.FHIR_BASE_URL!
  const server: AuthorizationServer = {
    async ask(method, path, { query = '', form, headers = {} } = {}) {
      const type: Record<string, string> = form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }
      const response = await fetch(`${base()}${path}${query === '' ? '' : `?${new URLSearchParams(query)}`}`, {
        ...{ method, redirect: 'manual', headers: { accept: 'text/html,image/*;q=0.8', ...type, ...headers } },
        ...(form === undefined ? {} : { body: new URLSearchParams(form).toString() }),
      })
      const text = await response.text()
      const isJson = (response.headers.get('content-type') ?? '').includes('json')
      return { status: response.status, headers: Object.fromEntries(response.headers), text, body: isJson ? JSON.parse(text) : undefined }
    },
  }
  let registry: Registry
  let client: Credentials
  beforeAll(async () => {
    registry = registryOf(cloud().awsEndpoint, cloud().deployment)
    client = await register(registry, { id: 'app', name: 'The <i>App</i>', scopes: SCOPES, redirectUris: [BACK] })
    await addUser('ann', { fhirUser: 'Practitioner/7' }, new Passwords())
    for (const [id, family] of Object.entries({ p1: 'Bell', p2: 'Bobbin' }))
      await put(`/Patient/${id}`, patient(id, { name: [{ family }] }))
    await put('/Encounter/e1', {
      resourceType: 'Encounter',
      id: 'e1',
      status: 'finished',
      class: { code: 'AMB' },
      subject: { reference: 'Patient/p1' },
    })
    for (const id of ['p1', 'p2'])
      for (const category of ['laboratory', 'vital-signs'])
        await put(`/Observation/${id}-${category}`, {
          ...observation(`${id}-${category}`, { subject: `Patient/${id}` }),
          category: [{ coding: [{ system: LAB.split('|')[0], code: category }] }],
        })
    // The patient search of a page does not wait for the index, so the patients must be indexed.
    expect((await get('/Patient')).body.total).toBe(2)
  })
  afterAll(() => registry?.close())

  async function addUser(name: string, more: object, passwords: Passwords): Promise<void> {
    const password = await passwords.hash(`password-of-${name}`)
    const user = { name, subject: `subject-of-${name}`, password, tenants: ['default'], scopes: ['user/*.rs'], changedAt: 0, ...more }
    await registry.users.change(name, () => user)
  }

  const asked = (scope: string, more: Readonly<Record<string, string>> = {}) => ({
    ...{ response_type: 'code', client_id: 'app', redirect_uri: BACK, scope, state: 'ä & +%2B=?', aud: base() },
    ...more,
  })
  const post = (endpoint: string, form: Readonly<Record<string, string>>) =>
    server.ask('POST', `/auth/${endpoint}`, { form: { client_id: client.id, client_secret: client.secret, ...form } })
  const exchange = (code: string) => post('token', { grant_type: 'authorization_code', code, redirect_uri: BACK })
  const refresh = (refresh_token: string) => post('token', { grant_type: 'refresh_token', refresh_token })
  const isActive = async (token: string): Promise<boolean> => (await post('introspect', { token })).body.active
  const withToken = (token: string) => clientOf(base, () => token)
  const visit = () => openBrowser(server, base())

  it('lead through login and consent back to the app, with the allowed scopes', async () => {
    const user = visit()
    const login = await user.open(
      '/auth/authorize',
      asked('openid fhirUser offline_access user/Patient.rs user/Observation.rs', { nonce: 'n' }),
    )
    expect([login.status, login.headers['content-type'], login.headers['cache-control']]).toEqual([
      200,
      'text/html; charset=utf-8',
      'no-store',
    ])
    expect([login.text.includes('The &#60;i&#62;App'), login.text.includes('<i>')]).toEqual([true, false])
    const set = login.headers['set-cookie']
    expect(set).toMatch(/; Path=\/fhir\/auth; HttpOnly; SameSite=Lax/)
    const wrong = await logIn(user, login, 'ann', 'wrong')
    expect([wrong.status, wrong.text.includes('is wrong')]).toEqual([403, true])
    const consent = await logIn(user, wrong, 'ann')
    expect([...user.cookies.values()].some((value) => set!.includes(value))).toBe(false)
    const back = redirectOf(await allowAccess(user, consent, ['user/Observation.rs']))
    const { of: own, ...sent } = back.sent
    expect([back.uri, own, sent]).toEqual([BACK.split('?')[0], '1', { code: expect.any(String), state: 'ä & +%2B=?', iss: base() }])
    const { status, body } = await exchange(sent.code!)
    expect([status, body.scope]).toEqual([200, 'openid fhirUser offline_access user/Patient.rs'])
    const { keys } = (await server.ask('GET', '/auth/jwks')).body
    const { payload } = await jwtVerify(body.id_token, createLocalJWKSet({ keys }), {
      issuer: base(),
      audience: 'app',
      algorithms: ['RS256'],
    })
    expect(payload).toMatchObject({ nonce: 'n', sub: 'subject-of-ann', fhirUser: `${base()}/Practitioner/7` })
    const app = withToken(body.access_token)
    expect([(await app.get('/Patient/p1')).status, (await app.get('/Observation/p1-laboratory')).status]).toEqual([200, 403])
  })

  it('reject a form from another browser, or without the cookie of its page', async () => {
    const login = await visit().open('/auth/authorize', asked('user/Patient.rs'))
    const other = visit()
    await other.open('/auth/authorize', asked('user/Patient.rs'))
    for (const each of [other, visit()]) {
      const answer = await logIn(each, login, 'ann')
      expect([answer.status, answer.headers.location, answer.text.includes('Please try again')]).toEqual([403, undefined, true])
    }
  })

  it('reject duplicate parameters, and accept an authorization request as a form', async () => {
    const query = new URLSearchParams(asked('user/Patient.rs', { prompt: 'none' }))
    const states = await server.ask('GET', '/auth/authorize', { query: `${query}&state=other` })
    expect(new URL(states.headers.location!).searchParams.get('error')).toBe('invalid_request')
    expect((await server.ask('GET', '/auth/authorize', { query: `${query}&client_id=app` })).status).toBe(400)
    const form = await server.ask('POST', '/auth/authorize', { form: `${query}` })
    expect([form.status, form.headers.location]).toEqual([303, `${base()}/auth/authorize?${query}`])
    const next = await server.ask('GET', '/auth/authorize', { query: new URL(form.headers.location!).search.slice(1) })
    expect(Object.fromEntries(new URL(next.headers.location!).searchParams)).toMatchObject({ error: 'login_required', state: 'ä & +%2B=?' })
  })

  it('let a user choose a patient, and limit the app to that patient', async () => {
    const user = visit()
    const scope = `launch/patient patient/Patient.rs patient/Observation.rs?category=${LAB}`
    const picker = await logIn(user, await user.open('/auth/authorize', asked(scope)), 'ann')
    expect(picker.text).toContain('Choose a patient')
    const found = await user.submit(picker, [['find_patient', 'bobb']])
    expect([found.text.includes('Bobbin'), found.text.includes('Bell')]).toEqual([true, false])
    const consent = await user.submit(found, [['chosen_patient', 'p2']], 1)
    const { sent } = redirectOf(await allowAccess(user, consent))
    const { body } = await exchange(sent.code!)
    expect(body).toMatchObject({ patient: 'p2', scope, smart_style_url: `${base()}/auth/style` })
    const app = withToken(body.access_token)
    const statuses = await Promise.all(['Patient/p2', 'Patient/p1'].map(async (path) => (await app.get(`/${path}`)).status))
    expect(statuses).toEqual([200, 404])
    expect((await app.get('/Observation')).body.entry.map(({ resource }: Tree) => resource.id)).toEqual(['p2-laboratory'])
    expect(issuesOf(await app.get('/Encounter'))).toEqual(['error forbidden'])
  })

  it('accept an EHR launch once, and revoke its tokens if a refresh token is reused', async () => {
    const ports = { ...registry, clock: { now: Date.now, newId: () => crypto.randomUUID() } }
    const wanted = { client: 'app', user: 'ann', patient: 'p1', encounter: 'e1', banner: false }
    const launch = await makeLaunch(ports, await checkLaunch(registry, wanted, async (each) => each))
    const user = visit()
    const query = asked('launch offline_access patient/*.rs', { launch })
    const { sent } = redirectOf(await allowAccess(user, await logIn(user, await user.open('/auth/authorize', query), 'ann')))
    const first = (await exchange(sent.code!)).body
    expect(first).toMatchObject({ patient: 'p1', encounter: 'e1', need_patient_banner: false })
    expect(redirectOf(await user.open('/auth/authorize', query)).sent.error).toBe('invalid_request')
    const second = (await refresh(first.refresh_token)).body
    expect([second.patient, second.refresh_token === first.refresh_token]).toEqual(['p1', false])
    expect((await post('introspect', { token: second.access_token })).body).toMatchObject({ active: true, patient: 'p1', username: 'ann' })
    expect((await withToken(second.access_token).get('/Patient/p1')).status).toBe(200)
    expect((await refresh(first.refresh_token)).body.error).toBe('invalid_grant')
    expect([await isActive(second.access_token), (await refresh(second.refresh_token)).status]).toEqual([false, 400])
  })

  it('revoke a refresh token together with its access token', async () => {
    const user = visit()
    const query = asked('offline_access user/Patient.rs', { prompt: 'consent' })
    const { sent } = redirectOf(await allowAccess(user, await logIn(user, await user.open('/auth/authorize', query), 'ann')))
    const { access_token, refresh_token } = (await exchange(sent.code!)).body
    expect(await isActive(access_token)).toBe(true)
    expect((await post('revoke', { token: refresh_token })).status).toBe(200)
    expect([await isActive(access_token), (await refresh(refresh_token)).status]).toEqual([false, 400])
    expect((await exchange(sent.code!)).body.error).toBe('invalid_grant')
  })

  it('let a user withdraw consent and log out', async () => {
    const user = visit()
    const query = asked('offline_access user/Patient.rs', { prompt: 'consent' })
    const { sent } = redirectOf(await allowAccess(user, await logIn(user, await user.open('/auth/authorize', query), 'ann')))
    const { access_token } = (await exchange(sent.code!)).body
    const account = await user.open('/auth/account')
    const withdrawal = formsOf(account).findIndex(({ action }) => action.endsWith('/auth/account'))
    expect((await user.submit(account, [['withdraw', 'app']], withdrawal)).text).toContain('No app has access')
    expect(await isActive(access_token)).toBe(false)
    const page = await user.open('/auth/account')
    const cookie = [...user.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    expect((await server.ask('POST', '/auth/logout', { form: { csrf: 'forged' }, headers: { cookie } })).status).toBe(403)
    expect((await user.open('/auth/account')).text).toContain('ann')
    await user.submit(
      page,
      [],
      formsOf(page).findIndex(({ action }) => action.endsWith('/auth/logout')),
    )
    expect((await server.ask('GET', '/auth/authorize', { query, headers: { cookie } })).text).toContain('Sign in')
  })

  it('have a SMART style as JSON', async () => {
    const { status, headers, text } = await server.ask('GET', '/auth/style')
    expect([status, headers['content-type']?.split(';')[0], text.length > 0]).toEqual([200, 'application/json', true])
  })

  it('hash a password again at login if its hash has a lower cost', async () => {
    await addUser('old', {}, new Passwords(OLD_COST))
    const before = (await registry.users.get('old'))!.password
    const user = visit()
    expect((await logIn(user, await user.open('/auth/authorize', asked('user/Patient.rs')), 'old')).status).toBe(200)
    const after = (await registry.users.get('old'))!.password
    expect([after === before, new Passwords().isOutdated(after)]).toEqual([false, false])
    const again = visit()
    const login = await again.open('/auth/authorize', asked('user/Patient.rs'))
    expect((await logIn(again, login, 'old', 'password-of-ann')).status).toBe(403)
    expect((await logIn(again, login, 'old')).text).toContain('Allow access for The')
  })

  it('register an invited app once, until it removes its registration', async () => {
    const invitation = makeInvitation('invited', { tenants: ['default'], days: 1 }, Date.now())
    await registry.clients.change('invited', () => invitation.client)
    const send = (method: string, url: string, token: string, body?: string) =>
      fetch(url, {
        ...{ method, headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' } },
        ...(body === undefined ? {} : { body }),
      })
    const register = (metadata: object = { token_endpoint_auth_method: 'none' }) =>
      send('POST', `${base()}/auth/register`, invitation.token, JSON.stringify({ redirect_uris: [BACK], ...metadata }))
    const keys = { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'https://10.0.0.1/jwks' }
    expect((await register(keys)).status).toBe(400)
    const responses = await Promise.all([register(), register()])
    expect(responses.map(({ status }) => status).toSorted()).toEqual([201, 401])
    const app = (await responses.find(({ status }) => status === 201)!.json()) as Tree
    expect(app.client_id).toBe('invited')
    const manage = async (method: string) => (await send(method, app.registration_client_uri, app.registration_access_token)).status
    expect([await manage('GET'), await manage('DELETE'), await manage('GET')]).toEqual([200, 204, 401])
    expect((await get('/.well-known/smart-configuration')).body.registration_endpoint).toBe(`${base()}/auth/register`)
  })
})
