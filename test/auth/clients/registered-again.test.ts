/** A client or a user of a name that was another's before: nothing of the other's is theirs. */
import { beforeEach, expect, it } from '@jest/globals'
import { checkLaunch, makeLaunch } from '../../../lambdas/auth/launch/launches.ts'
import { BASE_URL, CLIENT_SECRET, createAuthorization, START_TIME, type TestAuthorization } from '../authorization.ts'
import { allowAccess, logIn, openBrowser, redirectOf } from '../browser.ts'

const BACK = 'https://app.example/back'
const SCOPES = ['openid', 'offline_access', 'launch', 'user/*.rs']
const ASKED = { response_type: 'code', client_id: 'app', redirect_uri: BACK, aud: BASE_URL, scope: 'offline_access user/*.rs' }

let auth: TestAuthorization

const register = (registeredAt: number) => auth.addClient('app', { redirectUris: [BACK], scopes: SCOPES, registeredAt })

beforeEach(async () => {
  auth = await createAuthorization()
  await register(START_TIME + 1)
  await auth.addUser('ann')
})

const given = (grant_type: string, form: Record<string, string>) =>
  auth.ask('POST', '/auth/token', { form: { client_id: 'app', client_secret: CLIENT_SECRET, grant_type, ...form } })
const tokens = (code: string) => given('authorization_code', { code, redirect_uri: BACK })

/** A user in a browser who has let the app in: with a code that was not exchanged, and a refresh token. */
async function letIn() {
  const user = openBrowser(auth)
  const { sent } = redirectOf(await allowAccess(user, await logIn(user, await user.open('/auth/authorize', ASKED), 'ann')))
  const { body } = await tokens(sent.code!)
  const { code } = redirectOf(await user.open('/auth/authorize', ASKED)).sent
  return { user, code: code!, refresh: body.refresh_token as string }
}

it('a client registered again needs new consent, and inherits no codes or tokens', async () => {
  const { user, code, refresh } = await letIn()
  expect((await user.open('/auth/account')).text).toContain('End access for The app app')
  await register(START_TIME + 2)
  expect((await user.open('/auth/account')).text).toContain('No app has access')
  const page = await user.open('/auth/authorize', ASKED)
  expect([page.status, page.text.includes('Allow access for The app app?')]).toEqual([200, true])
  expect([(await tokens(code)).body.error, (await given('refresh_token', { refresh_token: refresh })).body.error]).toEqual([
    'invalid_grant',
    'invalid_grant',
  ])
  const { sent } = redirectOf(await allowAccess(user, await user.open('/auth/authorize', ASKED)))
  expect((await tokens(sent.code!)).status).toBe(200)
  expect(redirectOf(await user.open('/auth/authorize', ASKED)).sent.code).toBeDefined()
  // What it was allowed before is not joined to what it is allowed now.
  await register(START_TIME + 3)
  await allowAccess(user, await user.open('/auth/authorize', { ...ASKED, scope: 'openid' }))
  expect((await user.open('/auth/authorize', ASKED)).text).toContain('Allow access for The app app?')
})

it('a changed client keeps its consents, codes and tokens', async () => {
  const { user, code, refresh } = await letIn()
  await auth.clients.change('app', (client) => ({ ...client!, name: 'Renamed', changedAt: START_TIME + 9 }))
  expect(redirectOf(await user.open('/auth/authorize', ASKED)).sent.code).toBeDefined()
  expect([(await tokens(code)).status, (await given('refresh_token', { refresh_token: refresh })).status]).toEqual([200, 200])
})

it('a removed client is on no account page', async () => {
  const { user } = await letIn()
  await auth.clients.change('app', () => undefined)
  expect((await user.open('/auth/account')).text).toContain('No app has access')
})

it('a user with a reused name inherits no session, consent or token', async () => {
  const { user, code, refresh } = await letIn()
  await auth.addUser('ann', { subject: 'another' })
  expect((await user.open('/auth/account')).text).toContain('Sign in')
  expect([(await tokens(code)).body.error, (await given('refresh_token', { refresh_token: refresh })).body.error]).toEqual([
    'invalid_grant',
    'invalid_grant',
  ])
  const page = await logIn(user, await user.open('/auth/authorize', ASKED), 'ann')
  expect(page.text).toContain('Allow access for The app app?')
})

it('a launch is valid only for its original client and user', async () => {
  const asked = async (change: () => Promise<unknown>) => {
    const launch = await makeLaunch(auth.ports, await checkLaunch(auth.ports, { client: 'app', user: 'ann' }, async (launch) => launch))
    await change()
    const user = openBrowser(auth)
    return logIn(user, await user.open('/auth/authorize', { ...ASKED, scope: 'launch user/*.rs', launch }), 'ann')
  }
  expect((await asked(async () => undefined)).text).toContain('Allow access for The app app?')
  expect(redirectOf(await asked(() => register(START_TIME + 2))).sent.error).toBe('invalid_request')
  expect(redirectOf(await asked(() => auth.addUser('ann', { subject: 'another' }))).sent.error).toBe('access_denied')
})
