/** Logins, logouts and changes of the person in a real browser. */
import { beforeAll, describe, expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'
import {
  closeAfterAll,
  type Explored,
  forbidStorage,
  HAS_BROWSER,
  PASSWORD,
  signIn,
  startExplored,
  TestBrowser,
  type UserName,
} from './explored.ts'

;(HAS_BROWSER ? describe : describe.skip)('the session of the explorer', () => {
  let explored: Explored
  let browser: TestBrowser

  beforeAll(async () => {
    ;[explored, browser] = await Promise.all([startExplored('token'), TestBrowser.launch()])
    await explored.request('PUT', '/Organization/kept', { resourceType: 'Organization', id: 'kept', name: 'Before' })
  })

  closeAfterAll(() => [browser, explored])

  const openAs = async (user: UserName, path = ''): Promise<Page> => {
    const page = await browser.open(`${explored.base}/explorer${path}`)
    await signIn(page, user)
    return page
  }

  const storedIn = (page: Page): Promise<readonly string[]> => page.evaluate(() => Object.keys(sessionStorage).sort())

  it('leads back to the explorer by the back button after a login', async () => {
    const page = await openAs('doctor', '/Patient')
    await page.getByText('3 in all').waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'Resources' }).waitFor()
  })

  it.each(['//evil.example/fhir/explorer', '/fhir/explorer/../auth/logout'])(
    'leads home after a login that began at a place outside the explorer: %s',
    async (from) => {
      const page = await browser.open(`${explored.base}/explorer/Patient`)
      await page.getByLabel('User name').waitFor()
      await page.evaluate((text) => {
        const key = 'fhir-explorer-login'
        sessionStorage.setItem(key, JSON.stringify({ ...JSON.parse(sessionStorage.getItem(key)!), from: text }))
      }, from)
      await signIn(page, 'doctor')
      await page.getByRole('heading', { name: 'Resources' }).waitFor()
      expect(page.url()).toBe(`${explored.base}/explorer`)
    },
  )

  it('begins one login for requests that the server refuses at the same time', async () => {
    const page = await openAs('admin', '/exports')
    await page.getByText('No exports').waitFor()
    await page.evaluate(() => {
      const now = Date.now
      Date.now = () => now() + 2 * 60 * 60 * 1000
    })
    let logins = 0
    page.on('request', (request) => {
      if (request.url().includes('/auth/authorize?')) logins++
    })
    await page.getByRole('link', { name: 'FHIR explorer' }).click()
    await page.getByRole('link', { name: 'Patient 3' }).waitFor()
    expect(logins).toBe(1)
  })

  it('ends with the logout: the tab forgets the view, and shows nothing by the back button', async () => {
    const page = await openAs('doctor', '/Patient')
    await page.evaluate(() => {
      sessionStorage.setItem('fhir-explorer-view', 'patient/*.rs')
      sessionStorage.setItem('other', 'kept')
    })
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL(/\/auth\/logout/)
    expect(await storedIn(page)).toEqual(['other'])
  })

  it('ends in every tab, with the tokens of all', async () => {
    const page = await openAs('doctor', '/Patient')
    const other = await page.context().newPage()
    const tokens: string[] = []
    for (const each of [page, other])
      each.on('request', (request) => {
        const { authorization } = request.headers()
        if (authorization !== undefined) tokens.push(authorization)
      })
    await other.goto(`${explored.base}/explorer/Patient`)
    await other.getByText('3 in all').waitFor()
    await page.getByRole('link', { name: 'FHIR explorer' }).click()
    await page.getByRole('link', { name: 'Patient 3' }).waitFor()
    const statusesOf = () =>
      Promise.all(
        [...new Set(tokens)].map(async (authorization) => (await fetch(`${explored.base}/Patient`, { headers: { authorization } })).status),
      )
    expect(await statusesOf()).toEqual([200, 200])
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL(/\/auth\/logout/)
    await other.waitForURL(/\/auth\/logout/)
    expect(await statusesOf()).toEqual([401, 401])
  })

  it('loads a page again that the browser took out of its cache', async () => {
    const page = await openAs('doctor', '/Patient')
    await page.getByText('3 in all').waitFor()
    await page.evaluate(() => {
      dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))
    })
    expect(await page.locator('#app').textContent()).toBe('')
    const reloaded = page.waitForEvent('load')
    await page.evaluate(() => {
      dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))
    })
    await reloaded
    await page.getByText('3 in all').waitFor()
  })

  it('gives the unsaved text of a person to no other person', async () => {
    const page = await openAs('doctor', '/Organization/kept')
    await page.getByRole('button', { name: 'Edit' }).click()
    const editor = page.getByLabel('JSON of the resource')
    await editor.fill((await editor.inputValue()).replace('Before', 'Secret'))
    await page.context().clearCookies()
    await page.evaluate(() => {
      const now = Date.now
      Date.now = () => now() + 2 * 60 * 60 * 1000
    })
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByLabel('User name').fill('admin')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Version 1').waitFor()
    expect(await editor.count()).toBe(0)
    expect(await storedIn(page)).not.toContain('fhir-explorer-draft')
  })

  it('keeps the request that a person wrote while it renews the login', async () => {
    const page = await openAs('doctor', '/requests')
    await page.getByLabel('Method').selectOption('POST')
    await page.getByLabel('Body').fill('{"resourceType":"Basic"}')
    await page.evaluate(() => {
      const now = Date.now
      Date.now = () => now() + 2 * 60 * 60 * 1000
    })
    await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Send' }).click()])
    await page.getByLabel('Body').waitFor()
    expect(await page.getByLabel('Body').inputValue()).toBe('{"resourceType":"Basic"}')
    expect(await storedIn(page)).not.toContain('fhir-explorer-draft')
  })

  it('stays on the page, with the text, if the text is too large to keep while it renews the login', async () => {
    const page = await openAs('doctor', '/Organization/kept')
    await page.getByRole('button', { name: 'Edit' }).click()
    const editor = page.getByLabel('JSON of the resource')
    await editor.evaluate((area: HTMLTextAreaElement) => {
      area.value = ' '.repeat(6_000_000)
      area.dispatchEvent(new Event('input', { bubbles: true }))
      const now = Date.now
      Date.now = () => now() + 2 * 60 * 60 * 1000
    })
    for (const _ of ['first', 'second']) {
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByRole('alert').getByText('copy the text').waitFor()
    }
    expect((await editor.inputValue()).length).toBe(6_000_000)
    await page.getByRole('button', { name: 'Elements' }).click()
    await page.getByRole('link', { name: 'All Organization' }).click()
    await page.getByRole('table').waitFor()
  })

  it('needs the storage of the browser, and says so', async () => {
    const page = await browser.open('about:blank')
    await forbidStorage(page)
    await page.goto(`${explored.base}/explorer`)
    await page.getByRole('alert').getByText('forbids this page to store data').waitFor()
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(1)
  })

  it.each([
    ['the server is busy', { status: 503, contentType: 'text/html', body: '<h1>Busy</h1>' }, 'The login failed: the server answered 503'],
    ['the connection is lost', undefined, 'The login failed: the server did not answer'],
  ] as const)('says that a login failed because %s, and begins another one', async (_, answer, message) => {
    const page = await browser.open('about:blank')
    await page.route('**/auth/token', (route) => (answer === undefined ? route.abort() : route.fulfill(answer)))
    await page.goto(`${explored.base}/explorer/Patient`)
    await page.getByLabel('User name').fill('doctor')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').getByText(message).waitFor()
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: 'Resources' }).waitFor()
  })

  it('shows the history of all patients in a view', async () => {
    const page = await openAs('admin', '/Patient/58c297c4-d684-4677-8024-01131d93835e')
    await page.getByText('See as …').click()
    await page.getByLabel(/SMART scopes/).fill('user/Patient.rs')
    await page.getByLabel(/SMART scopes/).press('Enter')
    await page.getByText('Seen as').waitFor()
    await page.getByRole('link', { name: 'All Patient' }).click()
    await page.getByRole('link', { name: 'History' }).click()
    await page.getByRole('table').waitFor()
  })

  it('keeps a view that fails after a reload, so that the own data of the person does not look like the view', async () => {
    const page = await openAs('admin', '/Patient/58c297c4-d684-4677-8024-01131d93835e')
    await page.getByText('Version 1').waitFor()
    await page.evaluate(() => sessionStorage.setItem('fhir-explorer-view', 'removed'))
    await page.reload()
    await page.getByText('Seen as removed').waitFor()
    await page.getByRole('alert').getByText('There is no client removed').waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('Version 1').waitFor()
  })

  it('shows an answer of the console only in the view that it was sent in', async () => {
    const page = await openAs('admin', '/requests')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('Status 200').waitFor()
    await page.getByLabel('Name, identifier, id or path').fill('Patient/58c297c4-d684-4677-8024-01131d93835e')
    await page.getByLabel('Name, identifier, id or path').press('Enter')
    await page.getByText('See as …').click()
    await page.getByLabel(/SMART scopes/).fill('partner')
    await page.getByLabel(/SMART scopes/).press('Enter')
    await page.getByText('Seen as').waitFor()
    await page.getByRole('link', { name: 'Requests' }).click()
    await page.getByRole('heading', { name: 'Recent requests' }).waitFor()
    expect(await page.getByText('Status 200').count()).toBe(0)
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('Status 200').waitFor()
  })
})
