/**
 * Inferno, as far as it asks servers for access: an app with each way to prove who it is, its users, and a server with the record of a patient,
 * asked over the network. What a row asserts is one assertion of a kit: https://github.com/inferno-framework/smart-app-launch-test-kit,
 * https://github.com/inferno-framework/us-core-test-kit, https://github.com/onc-healthit/onc-certification-g10-test-kit,
 * https://github.com/inferno-framework/bulk-data-test-kit, https://github.com/inferno-framework/ipa-test-kit
 */
import { createHash, randomUUID } from 'node:crypto'
import { addClient, addLaunch, addUser, openAdministration } from '../../../lambdas/runtime/control/administration.ts'
import { startServer } from '../../api/server.ts'
import { newFolder, runAtEnd } from '../../fixtures/at-end.ts'
import { type AssertionChanges, assertionFormOf, createKeyPair, type KeyPair, signAssertion } from '../assertions.ts'
import type { RequestContent, TestResponse } from '../authorization.ts'
import { type AuthorizationServer, type Browser, logIn, openBrowser, type Redirect, redirectOf } from '../browser.ts'
import { FLOWS, type Flow, type FlowName, type Proof } from './flows.ts'
import { RECORD } from './record.ts'

/** `by`: the kit's test, as kit/test. `holds`: what must. */
export type KitRow = readonly [by: string, holds: string, check: (site: Site) => Promise<void> | void]

/** Where the server says it is: a port of this machine stands behind it. */
export const SERVER_URL = 'http://127.0.0.1/fhir'
export const REDIRECT_URI = 'https://inferno.example/redirect'
/** Where Inferno runs; servers of this machine let no page of another one ask. */
export const ORIGIN = 'http://localhost:4567'
const PASSWORD = 'correct horse battery'
/** What every app is registered for; each asks for some of it. */
const REGISTERED = [
  ...['openid', 'fhirUser', 'offline_access', 'launch', 'launch/patient', 'launch/encounter'],
  ...['patient/*.rs', 'user/*.rs', 'system/*.rs'],
]

/** Clients whose assertions are wrong: too many wrong ones of one are answered by 429. */
export const THROTTLED_CLIENTS = Array.from({ length: 8 }, (_, i) => `guessed-${i}`)

/** A launch up to the code. `state` and `verifier`: what the app made for it. */
export type CodeLaunch = { readonly asked: Readonly<Record<string, string>>; readonly verifier: string; readonly back: Redirect }

/** A whole launch: the answer with tokens, and those of a refresh without scopes and of one with them. */
export type CompletedLaunch = CodeLaunch & {
  readonly flow: Flow
  readonly token: TestResponse
  readonly refreshed: TestResponse
  readonly again: TestResponse
}

export type Site = Awaited<ReturnType<typeof openSite>>

/** Requests to absolute URLs of the server. */
function network(base: string) {
  const ask = async (method: string, url: string, { form, headers = {}, query }: RequestContent = {}): Promise<TestResponse> => {
    if (url !== SERVER_URL && !url.startsWith(`${SERVER_URL}/`)) throw new Error(`${url} is not of the server`)
    const search = query === undefined || query === '' ? '' : `?${new URLSearchParams(query)}`
    const body = form === undefined ? {} : { body: new URLSearchParams(form) }
    const answer = await fetch(`${url.replace(SERVER_URL, base)}${search}`, { method, headers, redirect: 'manual', ...body })
    const text = await answer.text()
    const isJson = (answer.headers.get('content-type') ?? '').includes('json')
    return { status: answer.status, headers: Object.fromEntries(answer.headers), text, body: isJson ? JSON.parse(text) : undefined }
  }
  const pages: AuthorizationServer = { ask: (method, path, sent) => ask(method, `${SERVER_URL}${path}`, sent) }
  return { ask, pages }
}

async function registered(folder: string, keys: readonly KeyPair[]) {
  const ports = await openAdministration(folder, { isNew: true })
  runAtEnd(() => ports.close())
  const common = { scopes: REGISTERED, redirectUris: [REDIRECT_URI], tenants: ['default'], mayIntrospect: false }
  const add = async (id: string, more: Partial<Parameters<typeof addClient>[1]>): Promise<string> =>
    (await addClient(ports, { id, name: `Inferno, ${id}`, authentication: 'secret', ...common, ...more })).secret ?? ''
  const jwks = { kind: 'keys', keys: keys.map(({ jwk }) => jwk) } as const
  await add('public', { authentication: { kind: 'public' } })
  await add('asymmetric', { authentication: jwks })
  for (const id of ['backend', ...THROTTLED_CLIENTS]) await add(id, { authentication: jwks, redirectUris: [], scopes: ['system/*.rs'] })
  const user = { scopes: ['user/*.rs'], tenants: ['default'] }
  await Promise.all([
    addUser(ports, { ...user, name: 'ann', fhirUser: 'Patient/1' }, PASSWORD),
    addUser(ports, { ...user, name: 'leaver', fhirUser: 'Patient/1' }, PASSWORD),
    addUser(ports, { ...user, name: 'doctor', fhirUser: 'Practitioner/7' }, PASSWORD),
  ])
  return {
    secrets: {
      symmetric: await add('symmetric', {}),
      resources: await add('resources', { redirectUris: [], scopes: ['system/*.rs'], mayIntrospect: true }),
      loader: await add('loader', { redirectUris: [], scopes: ['system/*.cruds'] }),
    },
    newLaunch: () => addLaunch(ports, { client: 'symmetric', patient: '1', encounter: 'visit' }),
  }
}

export const basicAuthorizationOf = (id: string, secret: string): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
})

export async function openSite() {
  const keys = { ES384: await createKeyPair('ES384', 'es'), RS384: await createKeyPair('RS384', 'rs') }
  const folder = newFolder()
  const { secrets, newLaunch } = await registered(folder, [keys.ES384, keys.RS384])
  const { embedded, base } = await startServer({ FHIR_ACCESS: 'token' }, folder)
  runAtEnd(() => embedded.close())
  const { ask, pages } = network(base)
  const get = (path: string, token?: string, headers: Record<string, string> = {}): Promise<TestResponse> =>
    ask('GET', path.startsWith('http') ? path : `${SERVER_URL}/${path}`, {
      headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...headers },
    })
  const token = (form: Record<string, string>, headers: Record<string, string> = {}): Promise<TestResponse> =>
    ask('POST', `${SERVER_URL}/auth/token`, { form, headers: { origin: ORIGIN, ...headers } })
  /** An assertion as the kits make it: for five minutes, for the token endpoint. */
  const asserted = (alg: keyof typeof keys, id: string, { claims = {}, ...rest }: AssertionChanges = {}): Record<string, string> => {
    const exp = Math.floor(Date.now() / 1000) + 300
    const own = { exp, aud: `${SERVER_URL}/auth/token`, ...(claims as object) }
    const { client_assertion, client_assertion_type } = assertionFormOf(signAssertion(keys[alg], id, Date.now(), { ...rest, claims: own }))
    return { client_assertion: client_assertion!, client_assertion_type: client_assertion_type! }
  }
  /** The same form with what proves who the client is. */
  const proved = (proof: Proof, form: Record<string, string>): Promise<TestResponse> => {
    if (proof === 'public') return token({ ...form, client_id: 'public' })
    return proof === 'basic'
      ? token(form, basicAuthorizationOf('symmetric', secrets.symmetric))
      : token({ ...form, ...asserted(proof, 'asymmetric') })
  }
  await load(base, (await token({ grant_type: 'client_credentials' }, basicAuthorizationOf('loader', secrets.loader))).body.access_token)
  const users = new Map<string, Browser>()
  const userOf = async (name: string): Promise<Browser> => {
    const known = users.get(name)
    if (known !== undefined) return known
    const user = openBrowser(pages, SERVER_URL)
    users.set(name, user)
    await logIn(user, await user.open('/auth/account'), name, PASSWORD)
    return user
  }

  return { ask, pages, get, token, asserted, proved, secrets, newLaunch, userOf, launched: new Map<FlowName, CompletedLaunch>() }
}

async function load(base: string, token: string): Promise<void> {
  const entry = RECORD.map((resource) => ({ resource, request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` } }))
  const body = JSON.stringify({ resourceType: 'Bundle', type: 'transaction', entry })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/fhir+json' }
  const answer = await fetch(base, { method: 'POST', headers, body })
  if (!answer.ok) throw new Error(`The record was not loaded: ${await answer.text()}`)
}

/** What the app asks for. `changed`: otherwise than a good app would. */
export async function authorizationRequestOf({ newLaunch }: Site, flow: Flow, changed: Record<string, string> = {}) {
  const verifier = `${randomUUID()}-${randomUUID()}`
  const asked: Record<string, string> = {
    response_type: 'code',
    client_id: flow.client,
    redirect_uri: REDIRECT_URI,
    scope: flow.scope,
    state: randomUUID(),
    aud: SERVER_URL,
    ...(flow.isLaunched ? { launch: await newLaunch() } : {}),
    ...(flow.hasChallenge === false
      ? {}
      : { code_challenge: createHash('sha256').update(verifier).digest('base64url'), code_challenge_method: 'S256' }),
    ...changed,
  }
  return { asked, verifier }
}

/** The page a user comes to. A form from another site is sent without cookies, as browsers do. */
export async function openAuthorizePage(site: Site, flow: Flow, asked: Readonly<Record<string, string>>): Promise<TestResponse> {
  const user = await site.userOf(flow.user)
  if (flow.method === 'GET') return user.open('/auth/authorize', asked)
  const { headers } = await site.pages.ask('POST', '/auth/authorize', { form: asked, headers: { origin: ORIGIN } })
  return user.open('/auth/authorize', new URL(headers.location!).search.slice(1))
}

/** What a user does on the page: unticks, and ticks what was not. */
export type ConsentChoice = { readonly without?: readonly string[]; readonly ticked?: readonly string[] }

/** A user who allows what is ticked, for the patient 1; one who decided before is not asked again. */
export async function obtainCode(
  site: Site,
  flow: Flow,
  changed: Record<string, string> = {},
  { without = [], ticked = [] }: ConsentChoice = {},
): Promise<CodeLaunch> {
  const { asked, verifier } = await authorizationRequestOf(site, flow, changed)
  const user = await site.userOf(flow.user)
  const page = await openAuthorizePage(site, flow, asked)
  const chosen = page.text.includes('Choose a patient') ? await user.submit(page, [['chosen_patient', '1']], 1) : page
  const decision = [['decision', 'allow'], ...ticked.map((scope) => ['keep', scope] as const)] as const
  return { asked, verifier, back: redirectOf(chosen.status === 303 ? chosen : await user.submit(chosen, decision, 0, without)) }
}

export const exchangeCode = ({ proved }: Site, { proof, hasChallenge }: Flow, { back, verifier }: CodeLaunch): Promise<TestResponse> =>
  proved(proof, {
    ...{ grant_type: 'authorization_code', code: back.sent.code!, redirect_uri: REDIRECT_URI },
    ...(hasChallenge === false ? {} : { code_verifier: verifier }),
  })

/** A launch nobody did before: others have used up their refresh tokens. */
export async function runLaunch(site: Site, flow: Flow, changed: Record<string, string> = {}, choice: ConsentChoice = {}) {
  const launched = await obtainCode(site, flow, changed, choice)
  return { ...launched, token: await exchangeCode(site, flow, launched) }
}

export async function runAllLaunches(site: Site): Promise<void> {
  for (const [name, flow] of Object.entries(FLOWS) as [FlowName, Flow][]) {
    const first = await runLaunch(site, flow)
    const refreshing = { grant_type: 'refresh_token', refresh_token: String(first.token.body.refresh_token) }
    const refreshed = await site.proved(flow.proof, refreshing)
    const { refresh_token, scope } = refreshed.body
    const again = await site.proved(flow.proof, { ...refreshing, refresh_token, scope })
    site.launched.set(name, { ...first, flow, refreshed, again })
  }
}

/** One row for each launch. */
export const rowsOfEachLaunch = (rows: (of: (site: Site) => CompletedLaunch, name: string) => readonly KitRow[]): readonly KitRow[] =>
  (Object.keys(FLOWS) as FlowName[]).flatMap((name) =>
    rows((site) => site.launched.get(name)!, name).map(([by, holds, check]): KitRow => [by, `${name}: ${holds}`, check]),
  )
