/**
 * The pages in a real browser, Debian's chromium: the whole flow without scripts on a narrow screen, what its policies keep away, and what
 * axe-core finds. https://github.com/dequelabs/axe-core
 */
import { existsSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import axe from 'axe-core'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { CLIENT_SECRET } from './authorization.ts'
import { type AuthServer, startAuthServer } from './served.ts'

const CHROMIUM = '/usr/bin/chromium'
const isThere = existsSync(CHROMIUM)
if (!isThere) process.stderr.write(`Not tested in a browser: ${CHROMIUM} is not there\n`)

/** The app: takes whoever is sent back, and shows a page of the server in a frame. */
class App {
  readonly asked: string[] = []
  readonly #http: Server
  /** Shown at /frame. */
  framed = ''

  constructor() {
    this.#http = createServer((request, response) => {
      this.asked.push(request.url ?? '')
      const body = request.url === '/frame' ? `<iframe src="${this.framed}"></iframe>` : '<p>the app</p>'
      response.writeHead(200, { 'content-type': 'text/html' }).end(body)
    })
  }

  listen = () => new Promise<void>((resolve) => this.#http.listen(0, '127.0.0.1', resolve))
  close = () => new Promise((resolve) => this.#http.close(resolve).closeAllConnections())
  get origin(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`
  }
}

const NARROW = { width: 360, height: 740 }

;(isThere ? describe : describe.skip)('the pages in a browser', () => {
  let there: AuthServer
  let browser: Browser
  let context: BrowserContext
  const [app, elsewhere] = [new App(), new App()]

  beforeAll(async () => {
    await Promise.all([app.listen(), elsewhere.listen()])
    const patients = [
      { id: '1', name: 'Ann Bell', birthDate: '1970-01-01', sex: 'female', number: '58c297c4-d684-4677-8024-01131d93835e' },
      { id: '2', name: `Bob ${'von der Langen-Straße '.repeat(4)}`, birthDate: '1980-02-02', number: '123456789012345678901234567890' },
    ]
    there = await startAuthServer({ patients, choices: { organizationName: 'Example Hospital' } })
    const scopes = ['openid', 'fhirUser', 'launch/patient', 'offline_access', 'patient/*.rs', 'user/*.cruds']
    await there.auth.addClient('app', { name: 'Growth Chart', redirectUris: [`${app.origin}/back`], scopes })
    await there.auth.addUser('dr.ann', { fhirUser: 'Practitioner/7' })
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] })
  })

  afterEach(() => context?.close())

  afterAll(async () => {
    await browser?.close()
    await Promise.all([there?.close(), app.close(), elsewhere.close()])
  })

  const authorizeUrl = (scope: string): string =>
    `${there.base}/auth/authorize?${new URLSearchParams({ response_type: 'code', client_id: 'app', redirect_uri: `${app.origin}/back`, scope, state: 's-1', aud: there.base })}`

  async function open(url: string, javaScriptEnabled: boolean): Promise<Page> {
    context = await browser.newContext({ viewport: NARROW, javaScriptEnabled })
    const page = await context.newPage()
    await page.goto(url)
    return page
  }

  async function logIn(page: Page): Promise<void> {
    await page.getByLabel('User name').fill('dr.ann')
    await page.getByLabel('Password').fill('password-of-dr.ann')
    await page.getByRole('button', { name: 'Sign in' }).click()
  }

  it('lead a user without scripts from the login to a valid code', async () => {
    const page = await open(authorizeUrl('openid launch/patient patient/*.rs user/Observation.rs'), false)
    await logIn(page)
    await page.getByLabel('Name').fill('ann')
    await page.getByRole('button', { name: 'Search' }).click()
    expect(await page.getByRole('button', { name: /Bob/ }).count()).toBe(0)
    await page.getByRole('button', { name: /Ann Bell/ }).click()
    await page.getByLabel(/test results that you can see/).uncheck()
    await page.getByRole('button', { name: 'Allow', exact: true }).click()
    await page.getByText('the app').waitFor()
    const { searchParams } = new URL(page.url())
    expect([searchParams.get('state'), searchParams.get('iss')]).toEqual(['s-1', there.base])
    const form = { grant_type: 'authorization_code', code: searchParams.get('code')!, redirect_uri: `${app.origin}/back` }
    const body = new URLSearchParams({ ...form, client_id: 'app', client_secret: CLIENT_SECRET })
    const tokens = (await (await fetch(`${there.base}/auth/token`, { method: 'POST', body })).json()) as Record<string, unknown>
    expect(tokens).toMatchObject({ patient: '1', scope: 'openid launch/patient patient/*.rs' })
    const [cookie] = await context.cookies()
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Lax', path: '/fhir/auth' })
  })

  it('show name, birth date and sex before a shortened number, and lead to the account', async () => {
    const page = await open(authorizeUrl('launch/patient patient/*.rs'), false)
    expect(await page.getByText('Example Hospital').isVisible()).toBe(true)
    await logIn(page)
    const row = page.getByRole('button', { name: /Ann Bell/ })
    const textOf = async (name: RegExp) => (await page.getByRole('button', { name }).textContent())?.trim().replace(/\s+/g, ' ')
    expect(await textOf(/Ann Bell/)).toBe('Ann Bell born 1970-01-01 · female number 58c2…835e')
    expect(await textOf(/Bob/)).toMatch(/^Bob .* born 1980-02-02 · sex unknown number 1234…7890$/)
    await row.click()
    await page.getByText('asks for access to health data at Example Hospital').waitFor()
    await page.getByRole('link', { name: 'Your account' }).click()
    await page.getByRole('heading', { name: 'Your account' }).waitFor()
  })

  it('show and withdraw consents; signing out asks for confirmation', async () => {
    const page = await open(authorizeUrl('user/*.cruds offline_access'), false)
    await logIn(page)
    await page.getByRole('button', { name: 'Allow', exact: true }).click()
    await page.getByText('the app').waitFor()
    await page.goto(`${there.base}/auth/account`)
    await page.getByRole('button', { name: 'End access for Growth Chart' }).click()
    await page.getByText('No app has access').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('You are signed out').waitFor()
    await page.getByRole('link', { name: 'Sign in again' }).click()
    expect(await page.getByLabel('Password').count()).toBe(1)
  })

  /** How to come to each page. */
  const PAGES: Readonly<Record<string, (page: Page) => Promise<void>>> = {
    login: async () => undefined,
    'a failed login': async (page) => {
      await page.getByLabel('User name').fill('nobody')
      await page.getByLabel('Password').fill('wrong')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('alert').waitFor()
    },
    'the choice of a patient': async (page) => {
      await logIn(page)
      await page.getByText('Bob').waitFor()
    },
    'no patient that fits': async (page) => {
      await logIn(page)
      await page.getByLabel('Name').fill('zzz')
      await page.getByRole('button', { name: 'Search' }).click()
      await page.getByText('No patients were found').waitFor()
    },
    consent: async (page) => {
      await logIn(page)
      await page.getByRole('button', { name: /Bob/ }).click()
      await page.getByText('Allow access for Growth Chart?').first().waitFor()
    },
    account: async (page) => {
      await logIn(page)
      await page.goto(`${there.base}/auth/account`)
    },
    logout: async (page) => {
      await logIn(page)
      await page.goto(`${there.base}/auth/logout`)
    },
    'a fault': async (page) => void (await page.goto(`${there.base}/auth/authorize?client_id=nobody`)),
  }

  const DARK = ['a failed login', 'the choice of a patient', 'consent'].map((name) => ['dark', name] as const)

  it.each([...Object.keys(PAGES).map((name) => ['light', name] as const), ...DARK])(
    'pass axe-core and fit 360 pixels (%s, %s)',
    async (colorScheme, name) => {
      const page = await open(
        authorizeUrl('openid launch/patient patient/*.rs user/Observation.rs?category=laboratory offline_access'),
        true,
      )
      await page.emulateMedia({ colorScheme })
      await PAGES[name]!(page)
      // Given by the debugger: the page itself runs nothing.
      await page.evaluate(axe.source)
      const found = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run())
      expect(found.violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([])
      expect(found.passes.length).toBeGreaterThan(10)
      const [width, title] = (await page.evaluate('[document.documentElement.scrollWidth, document.title]')) as [number, string]
      expect([width <= NARROW.width, title.length > 0]).toEqual([true, true])
    },
  )

  it('are not shown in a frame', async () => {
    app.framed = authorizeUrl('openid')
    const page = await open(`${app.origin}/frame`, true)
    const frame = page.frames().find((each) => each !== page.mainFrame())!
    await frame.waitForLoadState()
    expect([await frame.getByLabel('Password').count(), frame.url()]).toEqual([0, expect.stringMatching(/^(?:chrome-error|about:blank)/)])
  })

  it('block foreign form targets, foreign content and injected scripts', async () => {
    const page = await open(authorizeUrl('openid'), true)
    await page.evaluate(`document.forms[0].action = '${elsewhere.origin}/stolen'`)
    await page.getByLabel('User name').fill('dr.ann')
    await page.getByLabel('Password').fill('password-of-dr.ann')
    const blocked = page.waitForEvent('console', (message) => /form-action|form action/i.test(message.text()))
    await page.evaluate('document.forms[0].requestSubmit()')
    expect((await blocked).type()).toBe('error')
    const parts = [
      `<img src="${elsewhere.origin}/seen">`,
      `<img src=x onerror="globalThis.ran = true">`,
      `<link rel=stylesheet href="${elsewhere.origin}/style">`,
    ]
    const refused = page.waitForEvent('console', (message) => message.text().includes('/style'))
    await page.evaluate(`document.body.insertAdjacentHTML('beforeend', ${JSON.stringify(parts.join(''))})`)
    await refused
    expect([await page.evaluate('globalThis.ran'), elsewhere.asked]).toEqual([undefined, []])
  })
})
