/** Transfers of patient data to apps: which requests count, and `fhir usage`, which prints the counts. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { FilesystemTransferReader } from '../../lambdas/adapters/filesystem/transfers.ts'
import { addClient, addUser, openAdministration } from '../../lambdas/runtime/control/administration.ts'
import type { EmbeddedServer } from '../../lambdas/runtime/embedded/server.ts'
import { startServer } from '../api/server.ts'
import { runFhir } from '../bin/process.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { collect } from '../fixtures/collect.ts'
import { allowAccess, fetchedServer, logIn, openBrowser, redirectOf } from './browser.ts'

const ISSUER = 'http://127.0.0.1/fhir'
const BACK = 'https://app.example/back'
const PASSWORD = 'correct horse battery'
const YEAR = new Date().getUTCFullYear()

const data = newFolder()
const secrets: Record<string, string> = {}
let embedded: EmbeddedServer
let base: string

const server = fetchedServer(() => base)

beforeAll(async () => {
  const ports = await openAdministration(data, { isNew: true })
  for (const [id, scopes] of [
    ['app', ['launch/patient', 'patient/*.rs']],
    ['other', ['launch/patient', 'patient/*.rs']],
    ['loader', ['system/*.cruds']],
  ] as const) {
    const client = { id, name: id, authentication: 'secret', scopes, redirectUris: id === 'loader' ? [] : [BACK] } as const
    secrets[id] = (await addClient(ports, { ...client, tenants: ['default'], mayIntrospect: false })).secret!
  }
  for (const id of ['1', '2'])
    await addUser(ports, { name: `user${id}`, scopes: ['patient/*.rs'], tenants: ['default'], fhirUser: `Patient/${id}` }, PASSWORD)
  await ports.close()
  const started = await startServer({ FHIR_ACCESS: 'token', FHIR_AUDIT_DURABILITY: 'strict' }, data)
  embedded = started.embedded
  base = started.base
  const form = { grant_type: 'client_credentials', client_id: 'loader', client_secret: secrets.loader! }
  const { access_token } = (await server.ask('POST', '/auth/token', { form })).body
  for (const id of ['1', '2', '3']) {
    const resource = JSON.stringify({ resourceType: 'Patient', id })
    const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'application/fhir+json' }
    expect((await fetch(`${base}/Patient/${id}`, { method: 'PUT', headers, body: resource })).status).toBe(201)
    expect((await fetch(`${base}/Patient/${id}`, { headers })).status).toBe(200)
  }
})

afterAll(() => embedded?.close())

/** Logs the user in at an app, and returns a function that sends requests as the app and returns their status. */
async function openApp(app: string, user: string): Promise<(path: string) => Promise<number>> {
  const browser = openBrowser(server, ISSUER)
  const asked = { response_type: 'code', client_id: app, redirect_uri: BACK, aud: ISSUER, scope: 'launch/patient patient/*.rs' }
  const page = await logIn(browser, await browser.open('/auth/authorize', asked), user, PASSWORD)
  const { sent } = redirectOf(await allowAccess(browser, page))
  const form = { grant_type: 'authorization_code', client_id: app, client_secret: secrets[app]!, code: sent.code!, redirect_uri: BACK }
  const { access_token } = (await server.ask('POST', '/auth/token', { form })).body
  return async (path) => (await fetch(`${base}${path}`, { headers: { authorization: `Bearer ${access_token}` } })).status
}

const stored = async () =>
  (await collect(new FilesystemTransferReader(`${data}/usage`, () => undefined).read(YEAR))).map(
    ({ tenant, patient, client }) => `${tenant} ${patient} ${client}`,
  )

it('requests count if an app receives data of the patient of its user, once for each patient and app', async () => {
  expect(await stored()).toEqual([])
  const app = await openApp('app', 'user1')
  expect([await app('/metadata'), await app('/Patient/2'), await app('/Observation?patient=1'), await app('/Patient/3')]).toEqual([
    ...[200, 404, 200, 404],
  ])
  expect(await stored()).toEqual([])
  expect([await app('/Patient/1'), await app('/Patient'), await app('/Patient/1/$everything')]).toEqual([200, 200, 200])
  expect(await stored()).toEqual(['default 1 app'])
  const [second, other] = [await openApp('app', 'user2'), await openApp('other', 'user1')]
  expect([await second('/Patient?_id=2'), await other('/Patient/1/_history')]).toEqual([200, 200])
  expect((await stored()).toSorted()).toEqual(['default 1 app', 'default 1 other', 'default 2 app'])
})

it('fhir usage prints the patients, those with more than one transfer, and the apps, by year and month', async () => {
  const usage = async (...args: readonly string[]) => {
    const { code, out, err } = await runFhir('usage', '--data', data, '--year', String(YEAR), ...args)
    expect([code, err]).toEqual([0, ''])
    return out
  }
  const counts = { enrollees: 2, repeated: 1, apps: 2 }
  const month = expect.stringMatching(new RegExp(`^${YEAR}-\\d\\d$`))
  expect(JSON.parse(await usage('--json'))).toEqual({
    year: YEAR,
    by: 'day',
    patientAccess: { ...counts, months: [{ month, ...counts }] },
    partners: [],
  })
  expect(JSON.parse(await usage('--json', '--tenant', 'north')).patientAccess).toEqual({ enrollees: 0, repeated: 0, apps: 0, months: [] })
  const byRequest = JSON.parse(await usage('--json', '--by', 'request', '--tenant', 'default'))
  expect(byRequest).toMatchObject({ by: 'request', tenant: 'default', patientAccess: { enrollees: 2, repeated: 1, apps: 2 } })
  const lines = (await usage()).trimEnd().split('\n').map((line) => line.split(/ {2,}/)) // biome-ignore format: one line
  expect(lines).toEqual([
    ['PERIOD', 'PATIENTS', 'MORE THAN ONCE', 'APPS'],
    [String(YEAR), '2', '1', '2'],
    [month, '2', '1', '2'],
  ])
})

it('fhir usage counts the patients of each plan that they have now', async () => {
  const form = { grant_type: 'client_credentials', client_id: 'loader', client_secret: secrets.loader! }
  const { access_token } = (await server.ask('POST', '/auth/token', { form })).body
  const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'application/fhir+json' }
  const type = { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/coverage-class', code: 'plan' }] }
  const coverage = {
    ...{ resourceType: 'Coverage', id: 'c', status: 'active', beneficiary: { reference: 'Patient/1' }, payor: [{ display: 'Payer' }] },
    class: [
      { type, value: 'silver' },
      { type, value: 'gold' },
    ],
  }
  expect((await fetch(`${base}/Coverage/c`, { method: 'PUT', headers, body: JSON.stringify(coverage) })).status).toBe(201)
  const printed = async (...args: readonly string[]) => {
    const { code, out, err } = await runFhir('usage', '--data', data, '--year', String(YEAR), '--by-plan', ...args)
    expect([code, err]).toEqual([0, ''])
    return out
  }
  expect(JSON.parse(await printed('--json')).plans).toEqual([
    { plan: 'gold', enrollees: 1, repeated: 1, apps: 2 },
    { plan: 'none', enrollees: 1, repeated: 0, apps: 1 },
    { plan: 'silver', enrollees: 1, repeated: 1, apps: 2 },
  ])
  expect(await printed()).toMatch(/\n\nPLAN +PATIENTS +MORE THAN ONCE +APPS\ngold +1 +1 +2\nnone +1 +0 +1\nsilver +1 +1 +2\n$/)
})

it('fhir usage rejects a folder without data, and a missing or invalid year', async () => {
  const folder = newFolder()
  expect(await runFhir('usage', '--data', folder, '--year', '2026')).toMatchObject({
    code: 1,
    err: `fhir: There is no data in ${folder}: name the data folder of a server by --data\n`,
  })
  for (const args of [[], ['--year', '26']]) expect((await runFhir('usage', '--data', data, ...args)).code).toBe(1)
})
