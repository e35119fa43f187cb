/** What is being issued while it is taken away, and what is taken away by a machine whose clock is slow: neither counts. */
import { beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals'
import {
  type AdministrationPorts,
  addClient,
  addUser,
  changePassword,
  removeClient,
  removeUser,
  rotateClientCredentials,
} from '../../../lambdas/auth/administration/administration.ts'
import { assertionFormOf, createKeyPair, type KeyPair, signAssertion } from '../assertions.ts'
import { BASE_URL, CLIENT_SECRET, createAuthorization, type TestAuthorization } from '../authorization.ts'
import { allowAccess, logIn, openBrowser, redirectOf } from '../browser.ts'

const BACK = 'https://app.example/back'
const ASKED = { response_type: 'code', client_id: 'app', redirect_uri: BACK, aud: BASE_URL, scope: 'offline_access user/*.rs' }
const SLOW = 120_000
const NEW = 'another password'

let key: KeyPair
let auth: TestAuthorization
/** Of the client `app`. */
let secret: string
let whileFetched: () => Promise<unknown>

/** The server's stores, on a machine of which the clock is two minutes behind, or as said. */
const operator = (behind = SLOW): AdministrationPorts => {
  let waited = 0
  return {
    ...auth.ports,
    ...{ clients: auth.clients, users: auth.users },
    passwords: { hash: async (typed) => typed },
    audit: { prepare: async () => undefined, record: async () => undefined, close: async () => undefined },
    clock: { now: () => auth.now() - behind + waited, newId: () => crypto.randomUUID() },
    async wait(ms) {
      waited += ms
    },
  }
}

beforeAll(async () => {
  key = await createKeyPair('ES384', 'k')
})

beforeEach(async () => {
  whileFetched = async () => undefined
  auth = await createAuthorization({
    async keySource() {
      await whileFetched()
      return [key.jwk]
    },
  })
  await auth.addClient('gateway', { mayIntrospect: true })
  const common = { scopes: ['offline_access', 'user/*.rs', 'system/*.rs'], tenants: ['*'], mayIntrospect: false }
  const web = { ...common, id: 'app', name: 'App', redirectUris: [BACK], authentication: 'secret' } as const
  secret = (await addClient(operator(), web)).secret!
  const uri = 'https://keys.example/jwks'
  await addClient(operator(), { ...common, id: 'keyed', name: 'Keyed', redirectUris: [], authentication: { kind: 'uri', uri } })
  await addUser(operator(), { name: 'ann', scopes: ['user/*.cruds'], tenants: ['*'] }, 'password-of-ann')
})

const given = (grant_type: string, form: Record<string, string>) =>
  auth.ask('POST', '/auth/token', { form: { client_id: 'app', client_secret: secret, grant_type, ...form } })
const exchange = (code: string) => given('authorization_code', { code, redirect_uri: BACK })
const isActive = async (token: string): Promise<boolean> =>
  (await auth.ask('POST', '/auth/introspect', { form: { client_id: 'gateway', client_secret: CLIENT_SECRET, token } })).body.active

async function letIn() {
  const user = openBrowser(auth)
  const page = await logIn(user, await user.open('/auth/authorize', ASKED), 'ann')
  const { body } = await exchange(redirectOf(await allowAccess(user, page)).sent.code!)
  const code = redirectOf(await user.open('/auth/authorize', ASKED)).sent.code!
  return { user, code, access: body.access_token as string, refresh: body.refresh_token as string }
}

const isLoggedIn = async (user: ReturnType<typeof openBrowser>) => (await user.open('/auth/account')).text.includes('You are signed in')

describe('A fast clock', () => {
  it('revokes nothing that is issued after the change', async () => {
    await changePassword(operator(-SLOW), 'ann', NEW)
    secret = (await rotateClientCredentials(operator(-SLOW), 'app', 'now')).secret!
    const user = openBrowser(auth)
    const page = await logIn(user, await user.open('/auth/authorize', ASKED), 'ann', NEW)
    const { sent } = redirectOf(await allowAccess(user, page))
    expect(await isLoggedIn(user)).toBe(true)
    const { status, body } = await exchange(sent.code!)
    expect([status, await isActive(body.access_token)]).toEqual([200, true])
    expect((await given('refresh_token', { refresh_token: body.refresh_token })).status).toBe(200)
  })
})

describe('A revocation by a slow clock', () => {
  it.each([
    ['a user after a password change', () => changePassword(operator(), 'ann', NEW), false],
    ['a removed user', () => removeUser(operator(), 'ann'), false],
    [
      'a client after a rotation of its secret',
      async () => (secret = (await rotateClientCredentials(operator(), 'app', 'now')).secret!),
      true,
    ],
  ])('covers sessions, codes, refresh tokens and access tokens of %s', async (_, change, staysLoggedIn) => {
    const { user, code, access, refresh } = await letIn()
    expect([await isLoggedIn(user), await isActive(access)]).toEqual([true, true])
    await change()
    expect([await isLoggedIn(user), await isActive(access)]).toEqual([staysLoggedIn, false])
    expect([(await exchange(code)).body.error, (await given('refresh_token', { refresh_token: refresh })).body.error]).toEqual([
      'invalid_grant',
      'invalid_grant',
    ])
  })

  it('spares tokens issued afterwards, also to a client that is registered again', async () => {
    await changePassword(operator(), 'ann', 'password-of-ann')
    secret = (await rotateClientCredentials(operator(), 'app', 'now')).secret!
    const { user, access } = await letIn()
    expect([await isLoggedIn(user), await isActive(access)]).toEqual([true, true])
    const token = (await auth.ask('POST', '/auth/token', { form: assertionFormOf(signAssertion(key, 'keyed', auth.now())) })).body
      .access_token
    const { generation: _, registeredAt: __, changedAt: ___, ...same } = (await auth.clients.get('keyed'))!
    await removeClient(operator(), 'keyed')
    expect(await isActive(token)).toBe(false)
    await addClient(operator(), same)
    const again = await auth.ask('POST', '/auth/token', { form: assertionFormOf(signAssertion(key, 'keyed', auth.now())) })
    expect([await isActive(again.body.access_token), await isActive(token)]).toEqual([true, false])
  })
})

describe('A concurrent revocation', () => {
  it.each([
    ['changed', () => changePassword(operator(), 'ann', NEW)],
    ['removed and added again', () => removeUser(operator(), 'ann').then(() => auth.addUser('ann', { password: 'password-of-ann' }))],
  ])('prevents a session if the password is %s during its check', async (_, change) => {
    const check = auth.ports.checkPassword
    jest.spyOn(auth.ports, 'checkPassword').mockImplementationOnce(async (typed, user, network) => {
      await change()
      auth.later(500)
      return check(typed, user, network)
    })
    const user = openBrowser(auth)
    await logIn(user, await user.open('/auth/authorize', ASKED), 'ann')
    expect(await isLoggedIn(user)).toBe(false)
  })

  it.each([
    ['removed', () => removeClient(operator(), 'keyed')],
    ['given other keys', () => rotateClientCredentials(operator(), 'keyed', { kind: 'keys', keys: [{ kid: 'other' }] })],
  ])('prevents a valid token if the client is %s while its keys are fetched', async (_, change) => {
    whileFetched = async () => {
      await change()
      auth.later(2_000)
    }
    const { body } = await auth.ask('POST', '/auth/token', { form: assertionFormOf(signAssertion(key, 'keyed', auth.now())) })
    expect(await isActive(body.access_token)).toBe(false)
  })

  it.each([
    ['a code', 'authorization_code', () => changePassword(operator(), 'ann', NEW)],
    ['a refresh token', 'refresh_token', () => changePassword(operator(), 'ann', NEW)],
    ['a code', 'authorization_code', () => removeClient(operator(), 'app')],
    ['a refresh token', 'refresh_token', () => removeClient(operator(), 'app')],
  ] as const)('prevents valid tokens for %s (%s) that is being exchanged', async (_, kind, change) => {
    const { code, refresh } = await letIn()
    const list = auth.keys.list.bind(auth.keys)
    jest.spyOn(auth.keys, 'list').mockImplementationOnce(async () => {
      await change()
      auth.later(2_000)
      return list()
    })
    const { body } = await (kind === 'refresh_token' ? given(kind, { refresh_token: refresh }) : exchange(code))
    expect(await isActive(body.access_token)).toBe(false)
    const { error } = (await given('refresh_token', { refresh_token: body.refresh_token })).body
    expect(['invalid_grant', 'invalid_client']).toContain(error)
  })
})

it('a change that fails half-way has revoked tokens, and can be repeated', async () => {
  const { access } = await letIn()
  const broken = {
    ...operator(),
    users: { ...auth.users, get: auth.users.get.bind(auth.users), change: () => Promise.reject(new Error('down')) },
  }
  await expect(changePassword(broken as unknown as AdministrationPorts, 'ann', NEW)).rejects.toThrow('down')
  expect(await isActive(access)).toBe(false)
  await changePassword(operator(), 'ann', 'password-of-ann')
  const user = openBrowser(auth)
  const back = await logIn(user, await user.open('/auth/authorize', ASKED), 'ann')
  expect(await isActive((await exchange(redirectOf(back).sent.code!)).body.access_token)).toBe(true)
})

it('two concurrent rotations revoke the generation of each other', async () => {
  const kept = async () => (await auth.clients.get('app'))!.generation!
  const seen = new Set([await kept()])
  const change = auth.clients.change.bind(auth.clients)
  jest.spyOn(auth.clients, 'change').mockImplementationOnce(async (id, how) => {
    await rotateClientCredentials(operator(), 'app', 'now')
    seen.add(await kept())
    return change(id, how)
  })
  await rotateClientCredentials(operator(), 'app', 'now')
  const ended = await auth.revocations.revoked([...seen].map((generation) => `client:app ${generation}` as const))
  expect([seen.size, ended.size, seen.has(await kept())]).toEqual([2, 2, false])
})
