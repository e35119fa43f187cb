/** A store of who may do what that was itself set back: nothing counts there that was issued before it was adopted, and everything that is after. */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { makeLaunch } from '../../../lambdas/auth/launch/launches.ts'
import { REFRESH_LIFETIMES_MS } from '../../../lambdas/auth/tokens/lifetimes.ts'
import { type AdoptedStore, NO_ADOPTED_STORE, revokeAllOnAdoption } from '../../../lambdas/auth/tokens/restored-state.ts'
import { ALL_TOKENS } from '../../../lambdas/ports/rows/revocations.ts'
import type { SharedState } from '../../../lambdas/ports/rows/shared-state.ts'
import { memoryState } from '../../fixtures/memory-state.ts'
import { BASE_URL, CLIENT_SECRET, createAuthorization, START_TIME, type TestAuthorization } from '../authorization.ts'
import { allowAccess, logIn, openBrowser, redirectOf } from '../browser.ts'

const BACK = 'https://app.example/back'
const AS = { client_id: 'app', client_secret: CLIENT_SECRET }
const ASKED = { response_type: 'code', client_id: 'app', redirect_uri: BACK, aud: BASE_URL, scope: 'offline_access user/*.rs' }
const INVALID = { status: 400, body: { error: 'invalid_grant' } }

let auth: TestAuthorization
let adopted: SharedState<AdoptedStore>

beforeEach(async () => {
  auth = await createAuthorization()
  adopted = memoryState(NO_ADOPTED_STORE)
  const scopes = ['launch', 'offline_access', 'user/*.rs', 'system/*.rs']
  await auth.addClient('app', { redirectUris: [BACK], scopes, generation: 'g1' })
  await auth.addUser('ann', { fhirUser: 'Practitioner/7', scopes: ['user/*.rs'], generation: 'g2' })
})

const adopt = (store: string, wasAway = false) => revokeAllOnAdoption({ ...auth.ports, adopted }, store, wasAway)
const send = (form: Record<string, string>) => auth.ask('POST', '/auth/token', { form: { ...AS, ...form } })
const exchange = (code: string) => send({ grant_type: 'authorization_code', code, redirect_uri: BACK })
const refresh = (refresh_token: string) => send({ grant_type: 'refresh_token', refresh_token })
const isActive = async (token: string): Promise<boolean> =>
  (await auth.ask('POST', '/auth/introspect', { form: { ...AS, token } })).body.active

/** A login, and a code that it gave. */
async function loggedIn() {
  const user = openBrowser(auth)
  const page = await logIn(user, await user.open('/auth/authorize', { ...ASKED, prompt: 'consent' }), 'ann')
  return { user, code: redirectOf(await allowAccess(user, page)).sent.code! }
}

/** One of each that is issued. */
async function issued() {
  const service = (await send({ grant_type: 'client_credentials', scope: 'system/*.rs' })).body.access_token
  const given = (await exchange((await loggedIn()).code)).body
  const { user, code } = await loggedIn()
  const launch = await makeLaunch(auth.ports, { client: 'app' })
  return { service, access: given.access_token, refreshing: given.refresh_token, user, code, launch }
}

/** Whether each counts: those of a service and of a user, a login, a launch of who logs in anew, a code and a refresh token. */
async function counting({ service, access, refreshing, user, code, launch }: Awaited<ReturnType<typeof issued>>) {
  const another = openBrowser(auth)
  const launched = await another.open('/auth/authorize', { ...ASKED, scope: 'launch user/*.rs', launch })
  const asked = await logIn(another, launched, 'ann')
  return {
    service: await isActive(service),
    access: await isActive(access),
    login: redirectOf(await user.open('/auth/authorize', { ...ASKED, prompt: 'none' })).sent.error === undefined,
    launch: asked.status === 200,
    code: await exchange(code),
    refresh: await refresh(refreshing),
  }
}

const COUNTS = { status: 200 }

describe('An adopted state', () => {
  it('revokes all that was issued before, and nothing that is issued afterwards', async () => {
    const before = await issued()
    await adopt('state-1')
    auth.later(1_000)
    const after = await issued()
    const ended = { service: false, access: false, login: false, launch: false, code: INVALID, refresh: INVALID }
    expect(await counting(before)).toMatchObject(ended)
    expect(await counting(after)).toMatchObject({ service: true, access: true, login: true, launch: true, code: COUNTS, refresh: COUNTS })
  })

  it('revokes again for another state or a returning one, not for the next deployment', async () => {
    const ended = async () => (await auth.revocations.revoked([ALL_TOKENS])).get(ALL_TOKENS)
    await adopt('state-1')
    auth.later(1_000)
    await adopt('state-1')
    expect(await ended()).toBe(START_TIME)
    await adopt('state-2')
    expect(await ended()).toBe(START_TIME + 1_000)
    auth.later(1_000)
    await adopt('state-2', true)
    expect(await ended()).toBe(START_TIME + 2_000)
  })

  it('keeps the revocation until the last earlier refresh token has expired', async () => {
    const { refreshing } = await issued()
    await adopt('state-1')
    auth.later(REFRESH_LIFETIMES_MS.offline_access - 1)
    expect(await refresh(refreshing)).toMatchObject(INVALID)
  })

  it('revokes before it is marked as adopted', async () => {
    adopted.change = async () => {
      throw new Error('down')
    }
    await expect(adopt('state-1')).rejects.toThrow('down')
    expect((await auth.revocations.revoked([ALL_TOKENS])).get(ALL_TOKENS)).toBe(START_TIME)
    expect((await adopted.read()).value).toEqual(NO_ADOPTED_STORE)
  })
})
