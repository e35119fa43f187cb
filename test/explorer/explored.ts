/** An embedded server with the sample patients, and a browser that looks at it: Debian's chromium. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, expect } from '@jest/globals'
import axe from 'axe-core'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { readConfig } from '../../lambdas/runtime/config.ts'
import { addClient, addUser, openAdministration } from '../../lambdas/runtime/control/administration.ts'
import { type EmbeddedServer, openEmbeddedServer } from '../../lambdas/runtime/embedded/server.ts'
import { createKeyPair } from '../auth/assertions.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { failOnReport } from '../fixtures/never-reports.ts'
import type { Tree } from '../fixtures/resources.ts'

const CHROMIUM = '/usr/bin/chromium'
export const HAS_BROWSER = existsSync(CHROMIUM)
if (!HAS_BROWSER) process.stderr.write(`Not tested in a browser: ${CHROMIUM} is not there\n`)

const SAMPLE = join(import.meta.dirname, '../fixtures/sample')
export const PASSWORD = 'correct horse battery'

/** Users of the server, by name, with their scopes. `ann` is a patient. */
const USERS = {
  admin: { scopes: ['user/*.cruds', 'system/admin'], fhirUser: 'Practitioner/8' },
  doctor: { scopes: ['user/*.cruds'], fhirUser: 'Practitioner/7' },
  reader: { scopes: ['user/Patient.rs'], fhirUser: 'Practitioner/9' },
  ann: { scopes: ['patient/*.rs'], fhirUser: 'Patient/58c297c4-d684-4677-8024-01131d93835e' },
} as const

export type UserName = keyof typeof USERS

export type Explored = {
  readonly embedded: EmbeddedServer
  /** Base URL, such as `http://127.0.0.1:8080/fhir`. */
  readonly base: string
  readonly dataFolder: string
  /** Sends a request as the loader, who may do everything. */
  readonly request: (method: string, path: string, body?: object, headers?: Readonly<Record<string, string>>) => Promise<Response>
  readonly close: () => Promise<void>
}

/** Starts the server. `access`: `open`, or `token` with the users above. */
export async function startExplored(access: 'open' | 'token', environment: Readonly<Record<string, string>> = {}): Promise<Explored> {
  const dataFolder = newFolder()
  const secret = access === 'token' ? await addPeople(dataFolder) : undefined
  const port = await freePort()
  const base = `http://127.0.0.1:${port}/fhir`
  const config = readConfig({ FHIR_ACCESS: access, FHIR_CLIENT_IDS: 'optional', ...environment })
  const embedded = await openEmbeddedServer({ config, dataFolder, baseUrl: base, report: failOnReport })
  await new Promise<void>((resolve) => embedded.server.listen(port, '127.0.0.1', resolve))
  const authorization = secret === undefined ? {} : { authorization: `Bearer ${await tokenOf(base, secret)}` }
  const request = (method: string, path: string, body?: object, headers: Readonly<Record<string, string>> = {}) =>
    fetch(`${base}${path}`, {
      method,
      headers: { ...authorization, 'content-type': 'application/fhir+json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  for (const name of readdirSync(SAMPLE)) {
    const response = await request('POST', '/', withUpdates(JSON.parse(gunzipSync(readFileSync(join(SAMPLE, name))).toString())))
    if (!response.ok) throw new Error(`The sample was not loaded: ${await response.text()}`)
  }
  await request('GET', '/Patient?_summary=count')
  return { embedded, base, dataFolder, request, close: () => embedded.close() }
}

/** Returns the transaction with updates in place of creates, because the bundles share organizations. */
const withUpdates = ({ entry, ...bundle }: Tree): Tree => ({
  ...bundle,
  entry: entry.map((each: Tree) => ({ ...each, request: { method: 'PUT', url: `${each.resource.resourceType}/${each.resource.id}` } })),
})

/** Adds the users, the loader, a client with few scopes and another payer. Returns the secret of the loader. */
async function addPeople(dataFolder: string): Promise<string> {
  const ports = await openAdministration(dataFolder, { isNew: true })
  const { secret } = await addClient(ports, {
    id: 'loader',
    name: 'Loader',
    authentication: 'secret',
    scopes: ['system/*.cruds', 'system/admin'],
    redirectUris: [],
    tenants: ['default'],
    mayIntrospect: false,
  })
  await addClient(ports, {
    id: 'partner',
    name: 'Partner',
    authentication: 'secret',
    scopes: ['system/Patient.cruds', 'patient/Condition.rs', 'system/Observation.rs?code=http://loinc.org|4548-4'],
    redirectUris: [],
    tenants: ['default'],
    mayIntrospect: false,
  })
  const { jwk } = await createKeyPair('ES384', 'k')
  await addClient(ports, {
    id: 'payer',
    name: 'Payer',
    authentication: { kind: 'keys', keys: [jwk] },
    scopes: ['system/*.rs'],
    redirectUris: [],
    tenants: ['default'],
    mayIntrospect: false,
    partner: { kind: 'payer', identifiers: [{ system: 'http://hl7.org/fhir/sid/us-npi', value: '1234567893' }] },
  })
  for (const [name, user] of Object.entries(USERS)) await addUser(ports, { name, tenants: ['default'], ...user }, PASSWORD)
  await ports.close()
  return secret!
}

async function tokenOf(base: string, secret: string): Promise<string> {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: 'loader',
    client_secret: secret,
    scope: 'system/*.cruds system/admin',
  })
  const response = await fetch(`${base}/auth/token`, { method: 'POST', body })
  return ((await response.json()) as { access_token: string }).access_token
}

/** Returns a port that was free a moment ago. The base URL contains the port, so it must be known before the server exists. */
async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return port
}

/** Browser whose pages report errors of scripts and of the policy: `problems`. */
export class TestBrowser {
  readonly problems: string[] = []
  readonly #browser: Browser
  #context: BrowserContext | undefined

  private constructor(browser: Browser) {
    this.#browser = browser
  }

  static async launch(): Promise<TestBrowser> {
    return new TestBrowser(await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] }))
  }

  /** Opens an address in a new context, without cookies of earlier ones. */
  async open(url: string, { width = 1440, dark = false }: { readonly width?: number; readonly dark?: boolean } = {}): Promise<Page> {
    await this.#context?.close()
    this.#context = await this.#browser.newContext({
      viewport: { width, height: 900 },
      colorScheme: dark ? 'dark' : 'light',
      reducedMotion: 'reduce',
    })
    const page = await this.#context.newPage()
    page.on('pageerror', (error) => this.problems.push(error.message))
    page.on('console', (message) => message.type() === 'error' && this.problems.push(message.text()))
    await page.goto(url)
    return page
  }

  close = () => this.#browser.close()
}

/** Signs in on the login page, which the explorer leads to. */
export async function signIn(page: Page, user: UserName): Promise<void> {
  await page.getByLabel('User name').fill(user)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('link', { name: 'FHIR explorer' }).waitFor()
}

/** Makes the browser throw for each use of its storage, as with the setting that blocks the data of sites. */
export const forbidStorage = (page: Page): Promise<unknown> =>
  page.addInitScript(() => {
    const get = () => {
      throw new DOMException('Access is denied for this document.', 'SecurityError')
    }
    for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(globalThis, name, { get })
  })

/** Returns what axe-core finds on the page, by rule. https://github.com/dequelabs/axe-core */
export async function axeFindingsOf(page: Page): Promise<readonly string[]> {
  // The policy of the page forbids scripts of others, so the source runs in the page by the debugger's protocol.
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run())
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`)
}

/** Expects that axe-core finds nothing on the page, and that the page fits the screen: wide and narrow, light and dark. */
export async function expectAccessible(page: Page): Promise<void> {
  for (const width of [1440, 360])
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize({ width, height: 900 })
      await page.emulateMedia({ colorScheme })
      expect([width, colorScheme, await axeFindingsOf(page)]).toEqual([width, colorScheme, []])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    }
}

/** Closes the browser and the servers after the tests of the file, also if some of them did not start. */
export function closeAfterAll(started: () => readonly (Pick<Explored, 'close'> | undefined)[]): void {
  afterAll(() => Promise.all(started().map((each) => each?.close())))
}

/** Records the requests for data that the page sends, as `GET /Patient`. */
export function dataRequestsOf(page: Page, base: string): readonly string[] {
  const sent: string[] = []
  page.on('request', (request) => {
    const url = request.url()
    if (url.startsWith(`${base}/`) && request.resourceType() === 'fetch' && !url.includes('/auth/'))
      sent.push(`${request.method()} ${url.slice(base.length)}`)
  })
  return sent
}
