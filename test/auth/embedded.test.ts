/** Apps, users and patients of the embedded server: who logs in, what may be chosen, and what the tokens open. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { addClient, addLaunch, addUser, openAdministration } from '../../lambdas/runtime/control/administration.ts'
import type { EmbeddedServer } from '../../lambdas/runtime/embedded/server.ts'
import { startServer } from '../api/server.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { caseCountOf } from '../fixtures/long-runs.ts'
import type { TestResponse } from './authorization.ts'
import { allowAccess, fetchedServer, logIn, openBrowser, redirectOf } from './browser.ts'

const ISSUER = 'http://127.0.0.1/fhir'
const BACK = 'https://app.example/back'
const SCOPES = ['launch', 'launch/patient', 'openid', 'offline_access', 'patient/*.rs', 'user/*.rs', 'user/*.cruds']
const PASSWORD = 'correct horse battery'

let embedded: EmbeddedServer
let base: string
let secret: string
let launch: string
let asLoader: Readonly<Record<string, string>>

const server = fetchedServer(() => base)

const PATIENTS = [
  {
    ...{ id: '1', name: [{ family: 'Bell', given: ['Ann'] }], birthDate: '1970-01-01', gender: 'female' },
    identifier: [
      { value: '58c297c4-d684-4677-8024-01131d93835e' },
      { type: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v2-0203', code: 'MR' }] }, value: 'MRN-4711' },
    ],
  },
  { id: '2', name: [{ text: 'Bob <b>' }] },
  { id: '3' },
]

beforeAll(async () => {
  const data = newFolder()
  const ports = await openAdministration(data, { isNew: true })
  const common = { scopes: SCOPES, redirectUris: [BACK], tenants: ['default'], mayIntrospect: false }
  const { secret: made } = await addClient(ports, { id: 'app', name: 'App', authentication: 'secret', ...common })
  secret = made!
  const { secret: loader } = await addClient(ports, {
    id: 'loader',
    name: 'Loader',
    authentication: 'secret',
    ...common,
    redirectUris: [],
    scopes: ['system/*.cruds'],
  })
  const user = (name: string, fhirUser: string) => addUser(ports, { name, scopes: ['user/*.rs'], tenants: ['default'], fhirUser }, PASSWORD)
  await Promise.all([
    user('doctor', 'Practitioner/7'),
    user('bob', 'Patient/2'),
    user('aunt', 'RelatedPerson/9'),
    user('uncle', 'RelatedPerson/10'),
    user('cid', 'Patient/3'),
  ])
  await addUser(ports, { name: 'niece', scopes: ['patient/*.rs'], tenants: ['default'], fhirUser: 'RelatedPerson/9' }, PASSWORD)
  await addUser(ports, { name: 'nobody', scopes: ['user/*.rs'], tenants: ['default'] }, PASSWORD)
  launch = await addLaunch(ports, { client: 'app', patient: '1' })
  await ports.close()
  const started = await startServer({ FHIR_ACCESS: 'token' }, data)
  embedded = started.embedded
  base = started.base
  const form = { grant_type: 'client_credentials', client_id: 'loader', client_secret: loader! }
  const { body } = await server.ask('POST', '/auth/token', { form })
  const resources = [
    ...PATIENTS.map((patient) => ({ resourceType: 'Patient', ...patient })),
    ...PATIENTS.map(({ id }) => ({
      resourceType: 'Observation',
      id,
      status: 'final',
      code: { text: 'x' },
      subject: { reference: `Patient/${id}` },
    })),
    { resourceType: 'RelatedPerson', id: '9', patient: { reference: 'Patient/1' } },
    { resourceType: 'RelatedPerson', id: '10', patient: { reference: 'Patient/3' } },
  ]
  const authorization = `Bearer ${body.access_token}`
  asLoader = { authorization, 'content-type': 'application/fhir+json' }
  for (const resource of resources) {
    const headers = { authorization, 'content-type': 'application/fhir+json' }
    const { status } = await fetch(`${base}/${resource.resourceType}/${resource.id}`, {
      method: 'PUT',
      headers,
      body: JSON.stringify(resource),
    })
    expect(status).toBe(201)
  }
})

afterAll(() => embedded?.close())

const ASKED = { response_type: 'code', client_id: 'app', redirect_uri: BACK, aud: ISSUER, prompt: 'consent' }

async function enter(name: string, scope: string, more: Record<string, string> = {}) {
  const user = openBrowser(server, ISSUER)
  return { user, page: await logIn(user, await user.open('/auth/authorize', { ...ASKED, scope, ...more }), name, PASSWORD) }
}

async function tokensOf(page: TestResponse, user: ReturnType<typeof openBrowser>): Promise<TestResponse['body']> {
  const { sent } = redirectOf(await allowAccess(user, page))
  const form = { grant_type: 'authorization_code', client_id: 'app', client_secret: secret, code: sent.code!, redirect_uri: BACK }
  return (await server.ask('POST', '/auth/token', { form })).body
}

/** Ids of the Observations that a token opens. */
async function seen({ access_token }: TestResponse['body']): Promise<readonly string[]> {
  const response = await fetch(`${base}/Observation?_sort=_id`, { headers: { authorization: `Bearer ${access_token}` } })
  const { entry = [] } = (await response.json()) as { entry?: { resource: { id: string } }[] }
  return entry.map(({ resource }) => resource.id)
}

describe('a practitioner', () => {
  it('chooses among all patients by name; the token is limited to that patient', async () => {
    const { user, page } = await enter('doctor', 'launch/patient patient/*.rs')
    expect([
      page.text.includes('Ann Bell'),
      /born 1970-01-01 · female<\/span> <span class="quiet">number MRN-4711</.test(page.text),
      page.text.includes('Bob &#60;b&#62;'),
      page.text.includes('Without a name'),
    ]).toEqual([true, true, true, true])
    const found = await user.submit(page, [['find_patient', 'bel an']])
    expect([found.text.includes('Ann Bell'), found.text.includes('Bob')]).toEqual([true, false])
    const tokens = await tokensOf(await user.submit(found, [['chosen_patient', 'default/1']], 1), user)
    expect([tokens.patient, await seen(tokens)]).toEqual(['1', ['1']])
  })

  it('sees all data with user scopes, and one patient with patient scopes', async () => {
    const free = await enter('doctor', 'user/*.cruds')
    const tokens = await tokensOf(free.page, free.user)
    expect([tokens.scope, await seen(tokens)]).toEqual(['user/*.rs', ['1', '2', '3']])
    const launched = await enter('doctor', 'launch patient/*.rs', { launch })
    expect(launched.page.text).toContain('Ann Bell')
    expect(await seen(await tokensOf(launched.page, launched.user))).toEqual(['1'])
  })
})

it('a scope is granted only with a condition that one resource can meet', async () => {
  const granted = async (scope: string) => {
    const { body } = await server.ask('POST', '/auth/token', {
      form: { grant_type: 'client_credentials', client_id: 'app', client_secret: secret, scope },
    })
    return body.scope ?? body.error
  }
  const good = [
    'patient/Observation.rs?status=final',
    'patient/Observation.rs?code=http://loinc.org|1234-5&status=final,amended',
    'patient/*.rs?_tag=a',
    'patient/*.rs?onset-date=2020',
    'patient/*.rs?category=a',
  ]
  for (const scope of good) expect(await granted(scope)).toBe(scope)
  for (const bad of ['subject.name=a', '_has:Provenance:target:agent=1', 'nothing=1', 'status:contains=x', '_count=1', 'date=never'])
    expect([bad, await granted(`patient/Observation.rs?${bad}`)]).toEqual([bad, 'invalid_scope'])
  for (const bad of [
    'subject.name=a',
    '_has:Provenance:target:agent=1',
    'nothing=1',
    '_sort=date',
    '_count=1',
    '_tag=a&subject:Patient.name=a',
  ])
    expect([bad, await granted(`patient/*.rs?${bad}`)]).toEqual([bad, 'invalid_scope'])
  const user = openBrowser(server, ISSUER)
  const page = await user.open('/auth/authorize', { ...ASKED, scope: 'user/Observation.rs?subject.name=a' })
  expect(redirectOf(await logIn(user, page, 'doctor', PASSWORD)).sent.error).toBe('invalid_scope')
})

it('a user without fhirUser is offered no patients', async () => {
  const { page, user } = await enter('nobody', 'launch/patient patient/*.rs')
  expect([page.text.includes('No patients were found'), page.text.includes('Ann Bell')]).toEqual([true, false])
  const chosen = await user.open('/auth/authorize', { ...ASKED, scope: 'launch/patient patient/*.rs', chosen_patient: 'default/1' })
  expect(chosen.text).toContain('Choose a patient')
})

describe('a user other than a practitioner', () => {
  it.each([
    ['bob', '2'],
    ['aunt', '1'],
  ])('%s is offered, and sees, patient %s only', async (name, patient) => {
    const own = await enter(name, 'launch/patient patient/*.rs')
    expect(own.page.text).toContain('Allow access for App?')
    const tokens = await tokensOf(own.page, own.user)
    expect([tokens.patient, await seen(tokens)]).toEqual([patient, [patient]])
    const other = await own.user.open('/auth/authorize', { ...ASKED, scope: 'launch/patient patient/*.rs', chosen_patient: 'default/3' })
    expect([other.text.includes('Choose a patient'), other.text.includes('Without a name')]).toEqual([true, false])
    const free = await enter(name, 'user/*.rs')
    expect(await seen(await tokensOf(free.page, free.user))).toEqual([patient])
  })

  it('the user niece gets her patient for user scopes and for patient scopes', async () => {
    for (const scope of ['openid user/Observation.rs', 'launch/patient patient/Observation.rs']) {
      const { page, user } = await enter('niece', scope)
      const tokens = await tokensOf(page, user)
      expect([tokens.scope, await seen(tokens)]).toEqual([scope, ['1']])
    }
  })
})

it.each([
  ['uncle', 'RelatedPerson/10', { resourceType: 'RelatedPerson', id: '10', patient: { reference: 'Patient/3' }, active: false }],
  ['cid', 'Patient/3', undefined],
])('tokens of %s open nothing after %s ends, and are not renewed', async (name, url, ended) => {
  const { page, user } = await enter(name, 'offline_access user/*.rs')
  const tokens = await tokensOf(page, user)
  const write = (body: object | undefined) =>
    fetch(
      `${base}/${url}`,
      body === undefined ? { method: 'DELETE', headers: asLoader } : { method: 'PUT', headers: asLoader, body: JSON.stringify(body) },
    )
  expect((await write(ended)).ok).toBe(true)
  const read = await fetch(`${base}/Observation`, { headers: { authorization: `Bearer ${tokens.access_token}` } })
  expect([read.status, read.headers.get('www-authenticate')]).toEqual([401, expect.stringContaining('invalid_token')])
  const form = { grant_type: 'refresh_token', client_id: 'app', client_secret: secret, refresh_token: tokens.refresh_token }
  expect(await server.ask('POST', '/auth/token', { form })).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
})

it('40 people log in at the same moment from one address', async () => {
  // On a slow machine a login may wait too long for the others. It is answered 503, and the user tries again.
  const login = async (): Promise<readonly unknown[]> => {
    const { page } = await enter('doctor', 'user/*.cruds')
    return page.status === 503 ? login() : [page.status, page.text.includes('Allow access for App?')]
  }
  expect(await Promise.all(Array.from({ length: 40 }, login))).toEqual(Array(40).fill([200, true]))
})

it('many concurrent logins are throttled before the password check, and reads go on', async () => {
  const { page, user } = await enter('doctor', 'user/*.cruds')
  const tokens = await tokensOf(page, user)
  const robot = openBrowser(server, ISSUER)
  const form = await robot.open('/auth/authorize', { ...ASKED, scope: 'user/*.rs' })
  const logins = Array.from({ length: caseCountOf(200, 1_000) }, (_, i) =>
    logIn(robot, form, `user${i}`, 'wrong password').then(({ status }) => status),
  )
  const reads = await Promise.all(Array.from({ length: 50 }, () => seen(tokens)))
  expect(new Set(reads.map((ids) => ids.join()))).toEqual(new Set(['1,2,3']))
  const statuses = await Promise.all(logins)
  expect(statuses.filter((status) => status === 403).length).toBeLessThan(100)
  expect(statuses.filter((status) => status !== 403 && status !== 429 && status !== 503)).toEqual([])
})
