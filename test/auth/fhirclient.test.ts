/** An app made with fhirclient, in a real browser: from its launch by login, choice of a patient and consent to the patient, and on. */
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect } from '@jest/globals'
import { type Browser, chromium, type Page } from 'playwright-core'
import { readConfig } from '../../lambdas/runtime/config.ts'
import { addClient, addUser, openAdministration } from '../../lambdas/runtime/control/administration.ts'
import { type EmbeddedServer, openEmbeddedServer } from '../../lambdas/runtime/embedded/server.ts'
import { freePort } from '../engines/engine.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { isProgramUsable, itRequiring } from '../fixtures/needing.ts'

const CHROMIUM = '/usr/bin/chromium'
const itInBrowser = itRequiring('chromium', isProgramUsable(CHROMIUM, '--version'))
/** Nothing of it asks the network for anything of its own. */
const ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking']
const FHIRCLIENT = readFileSync('node_modules/fhirclient/build/fhir-client.min.js')
const SCOPE = 'launch/patient openid fhirUser offline_access patient/Patient.rs'

const PASSWORD = 'correct horse battery'

let embedded: EmbeddedServer
let base: string
let app: Server
let origin: string
let browser: Browser | undefined

/** Three pages: one that begins, one that goes on when it is come back to, and the library. */
const PAGES: Readonly<Record<string, () => string | Buffer>> = {
  '/launch.html': () => page(`FHIR.oauth2.authorize({ clientId: 'web', scope: '${SCOPE}', iss: '${base}', redirectUri: '/back.html' })`),
  '/back.html': () =>
    page(`FHIR.oauth2.ready()
      .then((client) => client.patient.read().then((patient) => client.refresh().then((state) => [client, patient, state])))
      .then(([client, patient, state]) => tell({ id: patient.id, user: client.user.fhirUser, scope: state.tokenResponse.scope }))
      .catch((error) => tell({ error: String(error) }))`),
  '/fhir-client.js': () => FHIRCLIENT,
}
const page = (script: string): string =>
  `<!doctype html><meta charset="utf-8"><title>app</title><p id="told"></p><script src="/fhir-client.js"></script>
  <script>const tell = (what) => { document.getElementById('told').textContent = JSON.stringify(what) }; ${script}</script>`

beforeAll(async () => {
  app = createServer(({ url = '' }, answer) => {
    const [path = ''] = url.split('?')
    answer.writeHead(path in PAGES ? 200 : 404, { 'content-type': path.endsWith('.js') ? 'text/javascript' : 'text/html' })
    answer.end(PAGES[path]?.())
  })
  await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(app.address() as AddressInfo).port}`
  await openSite()
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS }).catch(() => undefined)
})
afterAll(async () => {
  await browser?.close()
  app.closeAllConnections()
  app.close()
  await embedded.close()
})

/** With a patient, a user, and the app, which is public. */
async function openSite(): Promise<void> {
  const [data, port] = [newFolder(), await freePort()]
  const ports = await openAdministration(data, { isNew: true })
  const common = { tenants: ['default'], scopes: SCOPE.split(' '), redirectUris: [`${origin}/back.html`], mayIntrospect: false }
  await addClient(ports, { ...common, id: 'web', name: 'The app', authentication: { kind: 'public' } })
  await addUser(ports, { name: 'jane', scopes: ['user/*.rs'], tenants: ['default'], fhirUser: 'Practitioner/7' }, PASSWORD)
  await ports.close()
  base = `http://127.0.0.1:${port}/fhir`
  const report = (error: unknown): void => void process.stderr.write(`${error}\n`)
  embedded = await openEmbeddedServer({ config: readConfig({}), baseUrl: base, dataFolder: data, report })
  await new Promise<void>((resolve) => embedded.server.listen(port, '127.0.0.1', resolve))
  const authorization = `Bearer ${await embedded.issue({ isAdministrator: false })}`
  const body = JSON.stringify({ resourceType: 'Patient', id: 'a', name: [{ family: 'Bell', given: ['Ann'] }] })
  await fetch(`${base}/Patient/a`, { method: 'PUT', headers: { 'content-type': 'application/fhir+json', authorization }, body })
}

async function opened(): Promise<Page> {
  const page = await browser!.newPage()
  page.setDefaultTimeout(20_000)
  return page
}

async function goThrough(page: Page): Promise<void> {
  await page.getByLabel('User name').fill('jane')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Choose a patient' }).waitFor()
  await page.getByRole('button', { name: /Ann Bell/ }).click()
  await page.getByRole('heading', { name: 'Allow access for The app?' }).waitFor()
}

itInBrowser('an app made with fhirclient gets from its launch to the patient, and its tokens renewed', async () => {
  const page = await opened()
  await page.goto(`${origin}/launch.html`)
  await goThrough(page)
  await page.getByRole('button', { name: 'Allow', exact: true }).click()
  await page.waitForFunction("document.getElementById('told')?.textContent !== ''")
  const told = JSON.parse((await page.textContent('#told')) ?? '')
  expect(told).toEqual({ id: 'a', user: 'Practitioner/7', scope: SCOPE })
})
