/** Specification 5.1: the authorization endpoint and its pages, up to where the browser is sent back to. */
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { AuthRequest } from '../../../lambdas/auth/endpoint.ts'
import { makeLaunch } from '../../../lambdas/auth/launch/launches.ts'
import { cookieHeader } from '../../../lambdas/auth/login/cookies.ts'
import { recognizeBrowser } from '../../../lambdas/auth/login/known-browsers.ts'
import { BASE_URL, CLIENT_SECRET, createAuthorization, type TestAuthorization, type TestResponse } from '../authorization.ts'
import { allowAccess, formsOf, logIn, openBrowser, redirectOf } from '../browser.ts'

const BACK = 'https://app.example/back'
const ASKED = {
  response_type: 'code',
  client_id: 'app',
  redirect_uri: BACK,
  scope: 'openid fhirUser user/Observation.rs user/Patient.rs',
  state: 'a state & more',
  aud: BASE_URL,
}
const STANDALONE = { ...ASKED, scope: 'launch/patient patient/*.rs' }

let auth: TestAuthorization

beforeAll(async () => {
  auth = await createAuthorization({
    patients: [
      { id: '1', name: 'Ann <b>Bell</b>', birthDate: '1970-01-01' },
      { id: '2', name: 'Bob' },
    ],
    encounters: [
      { id: 'e1', of: '1' },
      { id: 'e2', of: '2' },
      { id: 'e9', of: '9' },
    ],
  })
  const scopes = ['openid', 'fhirUser', 'launch', 'launch/patient', 'offline_access', 'patient/*.rs', 'user/*.rs', 'system/*.rs']
  await auth.addClient('app', { name: 'The <i>App</i>', redirectUris: [BACK, 'https://app.example/other?x=1'], scopes })
  await auth.addClient('native', {
    authentication: { kind: 'public' },
    redirectUris: ['com.example.app:/back', 'http://127.0.0.1/back'],
    scopes,
  })
  await auth.addUser('ann', { fhirUser: 'Practitioner/7' })
  await auth.addUser('pat', { fhirUser: 'Patient/2', scopes: ['patient/*.rs'] })
})

beforeEach(async () => {
  auth.audited.length = auth.checked.length = 0
  for (const name of ['ann', 'pat'])
    for (const { key } of await auth.grants.listOf('consent', `subject-of-${name}`)) await auth.grants.remove('consent', key)
})

describe('a login', () => {
  it('leads over consent back to the app, with code, state and issuer', async () => {
    const user = openBrowser(auth)
    const login = await user.open('/auth/authorize', ASKED)
    expect([login.status, login.text.includes('The &#60;i&#62;App&#60;/i&#62;'), login.text.includes('<i>')]).toEqual([200, true, false])
    const consent = await logIn(user, login, 'ann')
    expect(consent.text).toContain('Read and search measurements and test results that you can see')
    const { uri, sent } = redirectOf(await allowAccess(user, consent))
    expect([uri, sent]).toEqual([BACK, { code: expect.any(String), state: ASKED.state, iss: BASE_URL }])
    expect(auth.audited.map(({ interaction, client, user, outcome, status }) => [interaction, client, user, outcome, status])).toEqual([
      ['authorize', 'app', undefined, undefined, 200],
      ['login', 'app', 'ann', 'logged in', 303],
      ['authorize', 'app', 'ann', undefined, 200],
      ['consent', 'app', 'ann', 'code', 303],
    ])
  })

  it('fails alike for a wrong password and an unknown user, without auditing unknown names', async () => {
    const user = openBrowser(auth)
    const login = await user.open('/auth/authorize', ASKED)
    const wrong = await logIn(user, login, 'ann', 'wrong')
    const nobody = await logIn(user, login, 'hunter2', 'wrong')
    expect([wrong.status, nobody.status]).toEqual([403, 403])
    expect(wrong.text).toContain('The user name or the password is wrong.')
    expect(wrong.text.replaceAll('ann', '')).toBe(nobody.text.replaceAll('hunter2', ''))
    expect(auth.checked).toEqual(['wrong', 'wrong'])
    expect(auth.audited.slice(1).map(({ user, outcome, status }) => [user, outcome, status])).toEqual([
      ['ann', 'login failed', 403],
      [undefined, 'login failed', 403],
    ])
    expect(JSON.stringify(auth.audited)).not.toContain('hunter2')
  })

  it('accepts the name in any case, and is not required again in its session', async () => {
    const user = openBrowser(auth)
    await logIn(user, await user.open('/auth/authorize', ASKED), ' Ann ', 'password-of-ann')
    expect((await user.open('/auth/authorize', ASKED)).text).toContain('Allow access for The')
  })

  it('can be loaded again by address, as can the consent page', async () => {
    const user = openBrowser(auth)
    expect((await user.open('/auth/login', { ...ASKED, prompt: 'login' })).text).toContain('Sign in')
    expect((await user.open('/auth/login')).text).toContain('Sign in')
    await logIn(user, await user.open('/auth/authorize', ASKED), 'ann')
    expect((await user.open('/auth/login', { ...ASKED, prompt: 'login' })).text).toContain('Sign in')
    expect((await user.open('/auth/login', ASKED)).text).toContain('Allow access for The')
    expect((await user.open('/auth/consent', ASKED)).text).toContain('Allow access for The')
    expect((await user.open('/auth/consent', { ...ASKED, redirect_uri: 'https://evil.example' })).status).toBe(400)
  })

  it('renews the cookie, which is HttpOnly, SameSite=Lax and Secure', async () => {
    const user = openBrowser(auth)
    const login = await user.open('/auth/authorize', ASKED)
    const [[name, before]] = [...user.cookies] as [[string, string]]
    await logIn(user, login, 'ann')
    const after = user.cookies.get(name)
    expect([name, after === before]).toEqual([expect.stringMatching(/^__Secure-fhir-/), false])
    const set = user.visited.find(({ headers }) => headers['set-cookie']?.includes(after!))!.headers['set-cookie']
    expect(set).toBe(`${name}=${after}; Path=/fhir/auth; HttpOnly; SameSite=Lax; Secure`)
    user.cookies.set(name, before)
    expect((await user.open('/auth/authorize', ASKED)).text).toContain('Sign in')
  })

  it('ends the previous session of the browser, and expires after twelve hours', async () => {
    const own = await createAuthorization()
    await own.addClient('app', { redirectUris: [BACK], scopes: ['user/*.rs'] })
    await own.addUser('ann', { fhirUser: 'Practitioner/7' })
    const asked = { ...ASKED, scope: 'user/*.rs' }
    const user = openBrowser(own)
    await logIn(user, await user.open('/auth/authorize', asked), 'ann')
    const [[name, before]] = [...user.cookies] as [[string, string]]
    await logIn(user, await user.open('/auth/authorize', { ...asked, prompt: 'login' }), 'ann')
    const after = user.cookies.get(name)!
    const shown = async (cookie: string) => {
      user.cookies.set(name, cookie)
      return (await user.open('/auth/authorize', asked)).text.includes('Allow access for The')
    }
    expect([after === before, await shown(before), await shown(after)]).toEqual([false, false, true])
    own.later(12 * 60 * 60 * 1000 - 1)
    expect(await shown(after)).toBe(true)
    own.later(1)
    expect(await shown(after)).toBe(false)
  })

  it('is refused from another site, and without the cookie of its page', async () => {
    const user = openBrowser(auth)
    const login = await user.open('/auth/authorize', ASKED)
    const foreign = openBrowser(auth)
    await foreign.open('/auth/authorize', ASKED)
    for (const other of [foreign, openBrowser(auth)]) {
      const answer = await logIn(other, login, 'ann')
      expect([answer.status, answer.text.includes('Please try again')]).toEqual([403, true])
    }
    expect(auth.checked).toEqual([])
  })

  it('is open to a browser in which the user logged in before, whatever others guess', async () => {
    const slow = await createAuthorization()
    await slow.addClient('app', { redirectUris: [BACK], scopes: ['user/*.rs'] })
    for (const name of ['ann', 'bob']) await slow.addUser(name)
    const again = { ...ASKED, scope: 'user/*.rs', prompt: 'login' }
    const begin = async (user = openBrowser(slow)) => ({ user, form: await user.open('/auth/authorize', again) })
    const known = await begin()
    await logIn(known.user, known.form, 'ann')
    const cookie = [...known.user.cookies].find(([name]) => name.endsWith('-browser'))!
    const set = known.user.visited.find(({ headers }) => headers['set-cookie']?.includes(cookie[1]))!.headers['set-cookie']
    expect(set).toBe(`${cookie.join('=')}; Path=/fhir/auth; HttpOnly; SameSite=Lax; Secure; Max-Age=15552000`)
    const other = await begin()
    for (const name of ['ann', 'bob']) for (let i = 0; i < 6; i++) await logIn(other.user, other.form, name, 'wrong')
    const statusOf = async (name: string, password?: string) => {
      const { user, form } = await begin(known.user)
      return (await logIn(user, form, name, password)).status
    }
    expect((await logIn(other.user, other.form, 'ann')).status).toBe(429)
    expect([await statusOf('ann'), await statusOf('bob')]).toEqual([200, 429])
    for (let i = 0; i < 5; i++) expect(await statusOf('ann', 'wrong')).toBe(403)
    expect(await statusOf('ann')).toBe(429)
  })

  it('is not open to a browser with a changed, old or foreign cookie', async () => {
    const slow = await createAuthorization()
    const request = (value: string) => ({ baseUrl: BASE_URL, headers: { cookie: `${name}=${value}` } }) as unknown as AuthRequest
    const name = /^[^=]+/.exec(cookieHeader({ baseUrl: BASE_URL } as AuthRequest, 'browser', '')['set-cookie']!)![0]
    const sealed = slow.ports.seal.seal('browser id-1 ann', slow.now())
    const foreign = (await createAuthorization()).ports.seal.seal('browser id-1 ann', slow.now())
    const other = slow.ports.seal.seal('["browser id-1 ann"]', slow.now())
    const known = (value: string, user = 'ann') => recognizeBrowser(slow.ports, request(value), user)
    expect([known(sealed), known(sealed, 'bob')]).toEqual(['id-1', undefined])
    expect([known(foreign), known(other), known(`${sealed}A`), known('')]).toEqual(Array(4).fill(undefined))
    slow.later(180 * 24 * 60 * 60 * 1000 - 1)
    expect(known(sealed)).toBe('id-1')
    slow.later(1)
    expect(known(sealed)).toBeUndefined()
  })

  it('is throttled per account and per address, before the password is checked', async () => {
    const slow = await createAuthorization()
    await slow.addClient('app', { redirectUris: [BACK], scopes: ['user/*.rs'] })
    await slow.addUser('ann')
    const user = openBrowser(slow)
    const login = await user.open('/auth/authorize', { ...ASKED, scope: 'user/*.rs' })
    const statuses: number[] = []
    for (let i = 0; i < 7; i++) statuses.push((await logIn(user, login, 'ann', 'wrong')).status)
    expect([statuses, slow.checked.length]).toEqual([[403, 403, 403, 403, 403, 429, 429], 5])
    const refused = await logIn(user, login, 'ann')
    expect([refused.status, refused.headers['retry-after'], refused.text.includes('Too many attempts')]).toEqual([429, '1', true])
    expect(slow.audited.at(-1)).toMatchObject({ outcome: 'login refused', user: 'ann' })
    slow.later(1_000)
    expect((await logIn(user, login, 'ann')).status).toBe(200)
    const robot = openBrowser(slow)
    const form = await robot.open('/auth/authorize', { ...ASKED, scope: 'user/*.rs' })
    const many = await Promise.all(Array.from({ length: 100 }, (_, i) => logIn(robot, form, `user${i}`, 'wrong')))
    expect(many.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(50)
    expect(slow.checked.length).toBeLessThanOrEqual(56)
  })
})

describe('consent', () => {
  it('grants only the scopes that the user leaves ticked', async () => {
    const user = openBrowser(auth)
    const page = await logIn(user, await user.open('/auth/authorize', ASKED), 'ann')
    const { sent } = redirectOf(await allowAccess(user, page, ['user/Patient.rs', 'fhirUser']))
    const form = { grant_type: 'authorization_code', client_id: 'app', client_secret: CLIENT_SECRET, code: sent.code!, redirect_uri: BACK }
    expect((await auth.ask('POST', '/auth/token', { form })).body.scope).toBe('openid user/Observation.rs')
  })

  it('is remembered, with its exclusions, until the app requests more', async () => {
    const user = openBrowser(auth)
    await allowAccess(user, await logIn(user, await user.open('/auth/authorize', ASKED), 'ann'), ['user/Patient.rs'])
    expect(redirectOf(await user.open('/auth/authorize', ASKED)).sent.code).toEqual(expect.any(String))
    expect(
      redirectOf(await user.open('/auth/authorize', { ...ASKED, scope: 'user/Observation.rs', prompt: 'none' })).sent.code,
    ).toBeDefined()
    const more = await user.open('/auth/authorize', { ...ASKED, scope: `${ASKED.scope} offline_access` })
    expect(
      formsOf(more)[0]!
        .fields.filter(([name]) => name === 'keep')
        .map(([, scope]) => scope),
    ).toEqual(['fhirUser', 'user/Observation.rs', 'offline_access'])
    expect((await user.open('/auth/authorize', { ...ASKED, prompt: 'consent' })).text).toContain('Allow access for The')
  })

  it('is required each time for a public client with a custom scheme', async () => {
    const user = openBrowser(auth)
    const asked = { ...ASKED, client_id: 'native', redirect_uri: 'com.example.app:/back' }
    const first = await logIn(user, await user.open('/auth/authorize', asked), 'ann')
    expect(redirectOf(await allowAccess(user, first)).uri).toBe('com.example.app:/back')
    expect((await user.open('/auth/authorize', asked)).text).toContain('Allow access for The')
  })

  it('reports access_denied to the app if the user refuses', async () => {
    const user = openBrowser(auth)
    const page = await logIn(user, await user.open('/auth/authorize', ASKED), 'ann')
    const denied = { error: 'access_denied', error_description: expect.any(String), state: ASKED.state, iss: BASE_URL }
    for (const said of [[['decision', 'deny']], [['decision', '']], []] as const)
      expect([said, redirectOf(await user.submit(page, said)).sent]).toEqual([said, denied])
    const nothing = { ...ASKED, scope: 'user/Observation.rs' }
    expect(redirectOf(await allowAccess(user, await user.open('/auth/authorize', nothing), ['user/Observation.rs'])).sent).toEqual(denied)
  })

  it('can be refused before the login and before a patient is chosen', async () => {
    const user = openBrowser(auth)
    const denied = { error: 'access_denied', error_description: expect.any(String), state: ASKED.state, iss: BASE_URL }
    const cancelled = async (page: TestResponse, form: number) => redirectOf(await user.submit(page, [['decision', 'deny']], form))
    const login = await user.open('/auth/authorize', STANDALONE)
    expect(await cancelled(login, 1)).toEqual({ uri: BACK, sent: denied })
    expect(await cancelled(await logIn(user, login, 'ann', 'wrong'), 1)).toEqual({ uri: BACK, sent: denied })
    expect(auth.audited.at(-1)).toMatchObject({ interaction: 'consent', client: 'app', outcome: 'access_denied' })
    const picker = await logIn(user, login, 'ann')
    expect([picker.text.includes('Choose a patient'), await cancelled(picker, 2)]).toEqual([true, { uri: BACK, sent: denied }])
    const form = { decision: 'deny', csrf: 'forged' }
    const forged = await auth.ask('POST', '/auth/consent', { query: STANDALONE, form, headers: { cookie: 'x=y' } })
    expect([forged.status, forged.headers.location]).toEqual([403, undefined])
    // The page of the account has no app to go back to.
    expect(formsOf(await openBrowser(auth).open('/auth/account'))).toHaveLength(1)
  })

  it('requires a new login first if prompt or max_age demand one', async () => {
    const user = openBrowser(auth)
    const page = await logIn(user, await user.open('/auth/authorize', ASKED), 'ann')
    const { action, fields } = formsOf(page)[0]!
    const cookie = [...user.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const given = async (more: string) => {
      const form = new URLSearchParams([...fields, ['decision', 'allow'] as const].map(([a, b]): [string, string] => [a, b])).toString()
      const answer = await auth.ask('POST', '/auth/consent', { query: `${action.split('?')[1]}${more}`, form, headers: { cookie } })
      return answer.headers.location!.split('?')[0]
    }
    auth.later(61_000)
    expect([await given('&prompt=login'), await given('&prompt=select_account'), await given('&max_age=60')]).toEqual(
      Array(3).fill(`${BASE_URL}/auth/authorize`),
    )
    expect([await given('&max_age=61'), await given('')]).toEqual([BACK, BACK])
    // Who just did is not asked again, however long the page of consent is read.
    await logIn(user, await user.open('/auth/authorize', { ...ASKED, max_age: '0', prompt: 'login consent' }), 'ann')
    const { searchParams } = new URL(user.visited.at(-2)!.headers.location!)
    expect([searchParams.get('prompt'), searchParams.get('max_age'), searchParams.get('state')]).toEqual(['consent', null, ASKED.state])
  })

  it('names the organization, or the host of the server if no name is set', async () => {
    const named = await createAuthorization({ choices: { organizationName: 'Klinik <b>am</b> Fluß' } })
    await named.addClient('app', { redirectUris: [BACK], scopes: ['user/*.rs'] })
    await named.addUser('ann', { fhirUser: 'Practitioner/7' })
    for (const [server, name] of [
      [named, 'Klinik &#60;b&#62;am&#60;/b&#62; Fluß'],
      [auth, 'fhir.example'],
    ] as const) {
      const user = openBrowser(server)
      const login = await user.open('/auth/authorize', { ...ASKED, scope: 'user/*.rs' })
      const consent = await logIn(user, login, 'ann')
      const account = await user.open('/auth/account')
      const logout = await user.open('/auth/logout')
      for (const { text } of [login, consent, account, logout, await user.submit(logout)])
        expect([text.includes(`<p class="organization">${name}</p>`), text.includes(` - ${name}</title>`)]).toEqual([true, true])
      expect(consent.text).toContain(`asks for access to health data at <strong>${name}</strong>`)
    }
  })

  it('says how long access lasts, and links the account page', async () => {
    const user = openBrowser(auth)
    const short = await logIn(user, await user.open('/auth/authorize', ASKED), 'ann')
    expect(short.text).toContain('Access ends 1 hour after you allow it.')
    const long = await user.open('/auth/authorize', { ...ASKED, scope: `${ASKED.scope} offline_access` })
    expect(long.text).toContain('Access ends 1 hour after you allow it, or later if you leave “Keep access” ticked.')
    expect(long.text).toContain('Keep access while you are away, until you end it or the app has not used it for 92 days')
    for (const { text } of [short, long, await user.open('/auth/authorize', STANDALONE)])
      expect(text).toContain(`<a href="${BASE_URL}/auth/account">Your account</a>`)
  })

  it('cannot be given from another site, nor for scopes beyond the request', async () => {
    const user = openBrowser(auth)
    const page = await logIn(user, await user.open('/auth/authorize', ASKED), 'ann')
    const forged = await user.submit(
      page,
      [['decision', 'allow']],
      0,
      formsOf(page)[0]!
        .fields.filter(([name]) => name === 'csrf')
        .map(([, value]) => value),
    )
    expect([forged.status, forged.headers.location]).toEqual([403, undefined])
    const { sent } = redirectOf(
      await user.submit(page, [
        ['decision', 'allow'],
        ['keep', 'user/*.rs'],
        ['keep', 'system/*.rs'],
      ]),
    )
    const form = { grant_type: 'authorization_code', client_id: 'app', client_secret: CLIENT_SECRET, code: sent.code!, redirect_uri: BACK }
    expect((await auth.ask('POST', '/auth/token', { form })).body.scope).toBe(ASKED.scope)
  })

  it('can be withdrawn by the user, which revokes its tokens', async () => {
    const user = openBrowser(auth)
    const page = await logIn(user, await user.open('/auth/authorize', { ...ASKED, scope: 'user/*.rs offline_access' }), 'ann')
    const { sent } = redirectOf(await allowAccess(user, page))
    const as = { client_id: 'app', client_secret: CLIENT_SECRET }
    const tokens = await auth.ask('POST', '/auth/token', {
      form: { ...as, grant_type: 'authorization_code', code: sent.code!, redirect_uri: BACK },
    })
    const isActive = async () =>
      (await auth.ask('POST', '/auth/introspect', { form: { ...as, token: tokens.body.access_token } })).body.active
    expect(await isActive()).toBe(true)
    const account = await user.open('/auth/account')
    expect(account.text).toContain('End access for The &#60;i&#62;App')
    const cookie = [...user.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    for (const path of ['/auth/account', '/auth/logout'])
      for (const csrf of ['', 'forged']) {
        const forged = await auth.ask('POST', path, { form: { withdraw: 'app', csrf }, headers: { cookie } })
        expect([path, forged.status]).toEqual([path, 403])
      }
    const after = await user.submit(account, [['withdraw', 'app']], 1)
    expect(after.text).toContain('No app has access')
    expect(await isActive()).toBe(false)
    const refresh = { ...as, grant_type: 'refresh_token', refresh_token: tokens.body.refresh_token }
    expect((await auth.ask('POST', '/auth/token', { form: refresh })).body.error).toBe('invalid_grant')
    expect((await user.open('/auth/authorize', ASKED)).text).toContain('Allow access for The')
    expect(auth.audited).toContainEqual(
      expect.objectContaining({ interaction: 'account', client: 'app', user: 'ann', outcome: 'withdrawn' }),
    )
  })
})

describe('the authorization endpoint', () => {
  const page: readonly (readonly [string, Record<string, string>])[] = [
    ['an unknown client', { client_id: 'nobody' }],
    ['no client', { client_id: '' }],
    ['another address', { redirect_uri: 'https://evil.example/back' }],
    ['an address that begins as the right one', { redirect_uri: `${BACK}/more` }],
    ['the right address with a query', { redirect_uri: `${BACK}?a=b` }],
    ['the right address with a fragment', { redirect_uri: `${BACK}#a` }],
    ['another case', { redirect_uri: 'https://app.example/BACK' }],
    ['a script', { redirect_uri: 'javascript:alert(1)' }],
    ['no address', { redirect_uri: '' }],
    ['an address of this machine that is not registered', { redirect_uri: 'http://127.0.0.1:5000/back' }],
  ]
  it.each(page)('shows the user an error, without redirect or link, for %s', async (_, wrong) => {
    const { status, headers, text } = await auth.ask('GET', '/auth/authorize', { query: { ...ASKED, ...wrong } })
    expect([status, headers.location, headers['content-type']]).toEqual([400, undefined, 'text/html; charset=utf-8'])
    expect([
      text.includes('This does not work'),
      /href|<form|evil/.test(`${text.replace(/<p role.*<\/p>/, '')}${JSON.stringify(headers)}`),
    ]).toEqual([true, false])
  })

  it('shows the client and address of a wrong request as escaped text', async () => {
    const shown = async (wrong: Record<string, string>) =>
      /<p role="alert">(.*)<\/p>/.exec((await auth.ask('GET', '/auth/authorize', { query: { ...ASKED, ...wrong } })).text)?.[1]
    const known =
      'The &#60;i&#62;App&#60;/i&#62; (client_id app) wants to go on at an address that it is not registered with: redirect_uri is '
    expect(await shown({ redirect_uri: `${BACK}/more` })).toBe(`${known}${BACK}/more`)
    expect(await shown({ redirect_uri: '"><b>call 5\u202e' })).toBe(`${known}&#34;&#62;&#60;b&#62;call\\u{20}5\\u{202e}`)
    expect(await shown({ redirect_uri: 'x'.repeat(5_000) })).toBe(`${known}${'x'.repeat(300)}`)
    expect(await shown({ client_id: 'nobody' })).toBe('The app that sent you here is not known to this server: client_id is nobody')
  })

  it('names the scopes that cannot be granted', async () => {
    const user = openBrowser(auth)
    await logIn(user, await user.open('/auth/authorize', ASKED), 'pat')
    const described = async (scope: string) => redirectOf(await user.open('/auth/authorize', { ...ASKED, scope })).sent.error_description
    expect(await described('patient/What.rs what')).toBe('The client is registered for none of: patient/What.rs what')
    expect(await described('system/*.rs')).toBe('None of these scopes can be granted: system/*.rs')
    expect(await described('')).toBe('scope is missing')
  })

  it('rejects a duplicate client_id or redirect_uri', async () => {
    for (const more of ['&client_id=app', `&redirect_uri=${BACK}`])
      expect((await auth.ask('GET', '/auth/authorize', { query: `${new URLSearchParams(ASKED)}${more}` })).status).toBe(400)
  })

  const told: readonly (readonly [string, Record<string, string>, string])[] = [
    ['another response type', { response_type: 'token' }, 'unsupported_response_type'],
    ['no response type', { response_type: '' }, 'invalid_request'],
    ['another aud', { aud: 'https://other.example/fhir' }, 'invalid_request'],
    ['no aud', { aud: '' }, 'invalid_request'],
    ['no scope', { scope: '' }, 'invalid_scope'],
    ['scopes that are not registered', { scope: 'patient/*.cruds system/admin' }, 'told later'],
    ['unknown scopes', { scope: 'everything' }, 'invalid_scope'],
    ['PKCE without a hash', { code_challenge: 'a'.repeat(43), code_challenge_method: 'plain' }, 'invalid_request'],
    ['an empty challenge', { code_challenge: '' }, 'invalid_request'],
    ['an empty method', { code_challenge_method: '' }, 'invalid_request'],
    ['PKCE without a method', { code_challenge: 'a'.repeat(43) }, 'invalid_request'],
    ['a challenge that is none', { code_challenge: 'abc', code_challenge_method: 'S256' }, 'invalid_request'],
    ['another response mode', { response_mode: 'fragment' }, 'invalid_request'],
    ['a request as JWT', { request: 'a.b.c' }, 'request_not_supported'],
    ['a request by reference', { request_uri: 'https://a.example' }, 'request_uri_not_supported'],
    ['prompt none and login', { prompt: 'none login' }, 'invalid_request'],
    ['prompt none without a login', { prompt: 'none' }, 'login_required'],
    ['max_age that is no number', { max_age: 'x' }, 'invalid_request'],
  ]
  it.each(told.filter(([, , error]) => error !== 'told later'))('reports %s to the app', async (_, wrong, error) => {
    const answer = await auth.ask('GET', '/auth/authorize', { query: { ...ASKED, ...wrong } })
    expect(redirectOf(answer)).toEqual({
      uri: BACK,
      sent: { error, error_description: expect.any(String), state: ASKED.state, iss: BASE_URL },
    })
    expect(auth.audited).toMatchObject([{ interaction: 'authorize', client: 'app', outcome: error }])
  })

  it.each([['x'.repeat(2_001)], ['é'.repeat(700)]])('rejects a nonce or state above 2000 characters (%#)', async (long) => {
    const nonce = redirectOf(await auth.ask('GET', '/auth/authorize', { query: { ...ASKED, nonce: long } }))
    expect(nonce.sent).toMatchObject({ error: 'invalid_request', error_description: expect.stringContaining('nonce'), state: ASKED.state })
    for (const path of ['/auth/authorize', '/auth/login', '/auth/consent'])
      for (const sent of [{ query: { ...ASKED, state: long } }, { form: { ...ASKED, state: long }, query: { ...ASKED, state: long } }]) {
        const { status, headers, text } = await auth.ask('form' in sent ? 'POST' : 'GET', path, sent)
        expect([status, headers.location, text.includes('state is longer than 2000 characters')]).toEqual([400, undefined, true])
      }
    const fits = { ...ASKED, state: 's'.repeat(2_000), nonce: 'n'.repeat(2_000) }
    expect((await auth.ask('GET', '/auth/authorize', { query: fits })).status).toBe(200)
    expect((await auth.ask('POST', '/auth/authorize', { form: fits })).status).toBe(303)
  })

  it('rejects a form that is too long for a URL', async () => {
    const form = { ...ASKED, launch: 'l'.repeat(8_000) }
    const { status, headers, text } = await auth.ask('POST', '/auth/authorize', { form })
    expect([status, headers.location, text.includes('longer than')]).toEqual([400, undefined, true])
  })

  it('rejects clients and users of other tenants, and names FHIR_TENANCY', async () => {
    const only = await createAuthorization()
    const scopes = ['user/*.rs']
    for (const [id, tenants] of [
      ['of-a', ['a']],
      ['of-both', ['a', 'default']],
    ] as const)
      await only.addClient(id, { redirectUris: [BACK], scopes, tenants })
    await only.addUser('north', { fhirUser: 'Practitioner/7', tenants: ['a'] })
    await only.addUser('both', { fhirUser: 'Patient/7', tenants: ['a', 'default'], scopes })
    const asked = { ...ASKED, scope: 'user/*.rs', client_id: 'of-both' }
    const told = { error_description: expect.stringContaining('FHIR_TENANCY'), state: ASKED.state, iss: BASE_URL }
    const client = await only.ask('GET', '/auth/authorize', { query: { ...asked, client_id: 'of-a' } })
    expect(redirectOf(client).sent).toEqual({ error: 'unauthorized_client', ...told })
    const [user, other] = [openBrowser(only), openBrowser(only)]
    expect(redirectOf(await logIn(user, await user.open('/auth/authorize', asked), 'north')).sent).toEqual({
      error: 'access_denied',
      ...told,
    })
    expect((await logIn(other, await other.open('/auth/authorize', asked), 'both')).text).toContain('Allow access for The')
  })

  it('reports duplicate parameters to the app, and omits a duplicate state', async () => {
    const twice = await auth.ask('GET', '/auth/authorize', { query: `${new URLSearchParams(ASKED)}&scope=a` })
    expect(redirectOf(twice).sent.error).toBe('invalid_request')
    const states = await auth.ask('GET', '/auth/authorize', { query: `${new URLSearchParams(ASKED)}&state=other` })
    expect(redirectOf(states).sent).toEqual({ error: 'invalid_request', error_description: expect.any(String), iss: BASE_URL })
  })

  it('accepts a registered address with a query, and any loopback port', async () => {
    const asked = { ...ASKED, prompt: 'none' }
    const own = await auth.ask('GET', '/auth/authorize', { query: { ...asked, redirect_uri: 'https://app.example/other?x=1' } })
    expect(own.headers.location).toContain('https://app.example/other?x=1&error=login_required')
    const port = await auth.ask('GET', '/auth/authorize', {
      query: { ...asked, client_id: 'native', redirect_uri: 'http://127.0.0.1:51234/back' },
    })
    expect(port.headers.location).toContain('http://127.0.0.1:51234/back?error=login_required')
  })

  it('redirects a POST to a GET', async () => {
    const { status, headers } = await auth.ask('POST', '/auth/authorize', { form: ASKED })
    expect([status, headers.location]).toEqual([303, `${BASE_URL}/auth/authorize?${new URLSearchParams(ASKED)}`])
  })

  it('requires PKCE if so configured', async () => {
    const strict = await createAuthorization({ choices: { pkce: 'require' } })
    await strict.addClient('app', { redirectUris: [BACK], scopes: ['openid', 'user/*.rs'] })
    expect(redirectOf(await strict.ask('GET', '/auth/authorize', { query: ASKED })).sent.error).toBe('invalid_request')
  })

  it('demands a new login once for prompt=login and an exceeded max_age', async () => {
    const user = openBrowser(auth)
    await logIn(user, await user.open('/auth/authorize', ASKED), 'ann')
    const again = await user.open('/auth/authorize', { ...ASKED, prompt: 'login' })
    expect(again.text).toContain('Sign in')
    expect((await logIn(user, again, 'ann')).text).toContain('Allow access for The')
    auth.later(100_000)
    expect((await user.open('/auth/authorize', { ...ASKED, max_age: '99' })).text).toContain('Sign in')
    expect((await user.open('/auth/authorize', { ...ASKED, max_age: '101' })).text).toContain('Allow access for The')
    const page = await user.open('/auth/authorize', { ...ASKED, max_age: '0' })
    expect(page.text).toContain('Sign in')
    auth.later(2_000)
    expect((await logIn(user, page, 'ann')).text).toContain('Allow access for The')
    expect(redirectOf(await user.open('/auth/authorize', { ...ASKED, prompt: 'none' })).sent.error).toBe('consent_required')
  })
})

describe('a patient', () => {
  it('is chosen from the patients that match, with names as text', async () => {
    const user = openBrowser(auth)
    const picker = await logIn(user, await user.open('/auth/authorize', STANDALONE), 'ann')
    expect([picker.text.includes('Choose a patient'), picker.text.includes('Ann &#60;b&#62;Bell'), picker.text.includes('<b>')]).toEqual([
      true,
      true,
      false,
    ])
    const found = await user.submit(picker, [['find_patient', 'bo']])
    expect([found.text.includes('Bob'), found.text.includes('Ann')]).toEqual([true, false])
    const consent = await user.submit(found, [['chosen_patient', '2']], 1)
    expect(consent.text).toContain('Patient: <strong>Bob</strong>')
    const shown = auth.audited.filter(({ interaction }) => interaction === 'authorize').map(({ patients }) => patients)
    expect(shown).toEqual([undefined, ['Patient/1', 'Patient/2'], ['Patient/2'], ['Patient/2']])
    const { sent } = redirectOf(await allowAccess(user, consent))
    const form = { grant_type: 'authorization_code', client_id: 'app', client_secret: CLIENT_SECRET, code: sent.code!, redirect_uri: BACK }
    const { body } = await auth.ask('POST', '/auth/token', { form })
    expect(body).toMatchObject({ patient: '2', need_patient_banner: true, smart_style_url: `${BASE_URL}/auth/style` })
    expect((await user.open('/auth/authorize', { ...STANDALONE, prompt: 'none' })).headers.location).toContain('interaction_required')
  })

  it('is shown for consent, even if the client names another one later', async () => {
    const user = openBrowser(auth)
    const chosen = { ...STANDALONE, chosen_patient: '1' }
    await logIn(user, await user.open('/auth/authorize', STANDALONE), 'ann')
    redirectOf(await allowAccess(user, await user.open('/auth/authorize', chosen)))
    const other = { ...chosen, chosen_patient: '2' }
    expect((await user.open('/auth/authorize', other)).text).toContain('Patient: <strong>Bob</strong>')
    expect(redirectOf(await user.open('/auth/authorize', { ...other, prompt: 'none' })).sent).toMatchObject({ error: 'consent_required' })
  })

  it('cannot be chosen if the user may not see it', async () => {
    const user = openBrowser(auth)
    await logIn(user, await user.open('/auth/authorize', STANDALONE), 'ann')
    expect((await user.open('/auth/authorize', { ...STANDALONE, chosen_patient: '3' })).text).toContain('Choose a patient')
  })

  it('is the user, if the user is a patient', async () => {
    const own = await createAuthorization({ patients: [{ id: '2', name: 'Pat' }] })
    await own.addClient('app', { redirectUris: [BACK], scopes: ['patient/*.rs'] })
    await own.addUser('pat', { fhirUser: 'Patient/2' })
    const user = openBrowser(own)
    expect((await logIn(user, await user.open('/auth/authorize', STANDALONE), 'pat')).text).toContain('Patient: <strong>Pat')
  })

  it('comes with an EHR launch, which is valid once, for one client and user', async () => {
    const launched = { client: 'app', user: 'ann', patient: '1', encounter: 'e1', banner: false }
    const ehr = async (of: object) => ({ ...ASKED, scope: 'launch patient/*.rs', launch: await makeLaunch(auth, { ...launched, ...of }) })
    const user = openBrowser(auth)
    const asked = await ehr({})
    const consent = await logIn(user, await user.open('/auth/authorize', asked), 'ann')
    expect(consent.text).toContain('Ann &#60;b&#62;Bell')
    const { sent } = redirectOf(await allowAccess(user, consent))
    const form = { grant_type: 'authorization_code', client_id: 'app', client_secret: CLIENT_SECRET, code: sent.code!, redirect_uri: BACK }
    const { body } = await auth.ask('POST', '/auth/token', { form })
    expect(body).toMatchObject({ patient: '1', encounter: 'e1', need_patient_banner: false, scope: 'launch patient/*.rs' })
    const error = async (query: Record<string, string>) => redirectOf(await user.open('/auth/authorize', query)).sent.error
    expect(await error(asked)).toBe('invalid_request')
    expect(await error({ ...asked, launch: 'unknown' })).toBe('invalid_request')
    expect(await error(await ehr({ client: 'native' }))).toBe('invalid_request')
    expect(await error(await ehr({ user: 'pat' }))).toBe('access_denied')
    for (const more of [{ patient: '9' }, { encounter: 'e2' }, { encounter: 'e8' }, { patient: undefined, encounter: 'e9' }])
      expect([more, await error(await ehr(more))]).toEqual([more, 'access_denied'])
    const brought = await user.open('/auth/authorize', { ...(await ehr({ patient: undefined, encounter: 'e2' })), prompt: 'consent' })
    expect(brought.text).toContain('Patient: <strong>Bob')
    expect(redirectOf(await user.open('/auth/authorize', await ehr({}))).sent.code).toBeDefined()
    // Without the scope a launch is nothing: it neither counts nor is used up.
    await auth.addClient('plain', { redirectUris: [BACK], scopes: ['patient/*.rs'] })
    const other = { ...(await ehr({ client: 'plain' })), client_id: 'plain' }
    expect((await user.open('/auth/authorize', other)).text).toContain('Choose a patient')
  })

  it('comes with a launch once, even for two concurrent consents', async () => {
    const of = await makeLaunch(auth, { client: 'app', user: 'ann', patient: '1', banner: false })
    const user = openBrowser(auth)
    const page = await logIn(user, await user.open('/auth/authorize', { ...ASKED, scope: 'launch patient/*.rs', launch: of }), 'ann')
    const sent = (await Promise.all([allowAccess(user, page), allowAccess(user, page)])).map((answer) => redirectOf(answer).sent)
    expect(sent.map(({ code, error }) => error ?? typeof code).toSorted()).toEqual(['invalid_request', 'string'])
  })

  it('determines the tenant of the token', async () => {
    const many = await createAuthorization({
      choices: { tenancy: true },
      patients: [
        { id: '1', name: 'Eve', tenant: 'b' },
        { id: '4', name: 'Eve', birthDate: '1970-01-01', tenant: 'a' },
        { id: '1', name: 'Zoe', tenant: 'c' },
      ],
    })
    await many.addClient('app', { redirectUris: [BACK], scopes: ['patient/*.rs', 'user/*.rs'], tenants: ['*'] })
    await many.addUser('ann', { tenants: ['a', 'b'] })
    await many.addUser('out', { tenants: [] })
    const user = openBrowser(many)
    const picker = await logIn(user, await user.open('/auth/authorize', STANDALONE), 'ann')
    expect([picker.text.includes('Eve'), picker.text.includes('Zoe')]).toEqual([true, false])
    expect(many.audited.at(-1)).toMatchObject({ tenant: '', patients: ['b/Patient/1', 'a/Patient/4'] })
    expect((await user.open('/auth/authorize', { ...STANDALONE, chosen_patient: 'c/1' })).text).toContain('Choose a patient')
    const consent = await user.submit(picker, [['chosen_patient', 'b/1']], 1)
    expect(many.audited.at(-1)).toMatchObject({ tenant: 'b', patients: ['Patient/1'] })
    const { sent } = redirectOf(await allowAccess(user, consent))
    const form = { grant_type: 'authorization_code', client_id: 'app', client_secret: CLIENT_SECRET, code: sent.code!, redirect_uri: BACK }
    const { body } = await many.ask('POST', '/auth/token', { form })
    expect(JSON.parse(Buffer.from(body.access_token.split('.')[1], 'base64url').toString())).toMatchObject({ tenant: 'b', patient: '1' })
    const rows = [...picker.text.matchAll(/<button class="other row"[^>]*>([^<]*)<span>([^<]*)<\/span> <span class="quiet">([^<]*)</g)]
    expect(rows.map(([, name = '', ...rest]) => [name.trim(), ...rest])).toEqual([
      ['Eve', 'birth date unknown · sex unknown', 'id 1 · tenant b'],
      ['Eve', 'born 1970-01-01 · sex unknown', 'id 4 · tenant a'],
    ])
    const consents = await Promise.all(
      ['b/1', 'a/4'].map((chosen_patient) => user.open('/auth/authorize', { ...STANDALONE, chosen_patient })),
    )
    expect(consents.map(({ text }) => /<strong>Eve<\/strong><br>([^<]*)<br><span class="quiet">([^<]*)</.exec(text)?.slice(1))).toEqual(
      rows.map(([, , ...rest]) => rest),
    )
    await many.addUser('ann', { tenants: ['b'] })
    const one = [
      await user.open('/auth/authorize', STANDALONE),
      await user.open('/auth/authorize', { ...STANDALONE, chosen_patient: 'b/1' }),
    ]
    expect(one.map(({ text }) => [text.includes('Eve'), text.includes('tenant')])).toEqual([
      [true, false],
      [true, false],
    ])
    const whole = { ...ASKED, scope: 'user/*.rs' }
    const about = async (tenants: readonly string[]) => {
      await many.addUser('ann', { tenants })
      return /The data is that of ([^.]*)[.]/.exec((await user.open('/auth/authorize', whole)).text)?.[1]
    }
    expect([await about(['b']), await about(['a', 'b']), await about(['*'])]).toEqual([undefined, 'the tenants a, b', 'all tenants'])
    const stranger = openBrowser(many)
    const denied = await logIn(stranger, await stranger.open('/auth/authorize', { ...ASKED, scope: 'user/*.rs' }), 'out')
    expect(redirectOf(denied).sent.error).toBe('access_denied')
  })
})

describe('every page', () => {
  it('forbids scripts, framing and caching, and allows forms to the app only', async () => {
    const user = openBrowser(auth)
    const pages = [
      await user.open('/auth/authorize', ASKED),
      await logIn(user, user.visited[0]!, 'ann'),
      await user.open('/auth/account'),
      await user.open('/auth/logout'),
      await user.open('/auth/authorize', { ...ASKED, client_id: 'nobody' }),
    ]
    for (const { headers, text } of pages) {
      expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', 'x-frame-options': 'DENY' })
      const policy = headers['content-security-policy']!
      expect(policy).toMatch(
        /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'(?: https:\/\/app\.example)?; frame-ancestors 'none'; base-uri 'none'$/,
      )
      expect(text).not.toMatch(/<script|javascript:|\son\w+=|style="/i)
      expect(text).toMatch(/^<!doctype html>\n<html lang="en">/)
    }
    expect(pages.slice(0, 2).every(({ headers }) => headers['content-security-policy']!.includes('https://app.example'))).toBe(true)
  })

  it('is not readable across origins; endpoints for apps in browsers are', async () => {
    const origin = { headers: { origin: 'https://app.example' } }
    const allowed = async (method: string, path: string) => (await auth.ask(method, path, origin)).headers['access-control-allow-origin']
    for (const path of ['authorize', 'login', 'consent', 'account', 'logout', 'introspect'])
      for (const method of ['GET', 'POST', 'OPTIONS']) expect([path, await allowed(method, `/auth/${path}`)]).toEqual([path, undefined])
    for (const [method, path] of [
      ['POST', '/auth/token'],
      ['POST', '/auth/revoke'],
      ['GET', '/auth/jwks'],
      ['OPTIONS', '/auth/token'],
      ['GET', '/.well-known/smart-configuration'],
    ] as const)
      expect([path, await allowed(method, path)]).toEqual([path, '*'])
  })

  it('describes a machine fault with the request id only', async () => {
    const broken = await createAuthorization()
    broken.clients.get = async () => {
      throw new Error('secret')
    }
    const { status, text, headers } = await broken.ask('GET', '/auth/authorize', { query: ASKED })
    expect([status, headers['content-type'], text.includes('request-1'), text.includes('secret')]).toEqual([
      500,
      'text/html; charset=utf-8',
      true,
      false,
    ])
  })

  it('ends the session when the user signs out', async () => {
    const user = openBrowser(auth)
    await logIn(user, await user.open('/auth/authorize', ASKED), 'ann')
    const out = await user.submit(await user.open('/auth/logout'))
    expect([out.text.includes('You are signed out'), (await user.open('/auth/account')).text.includes('Sign in')]).toEqual([true, true])
  })
})
