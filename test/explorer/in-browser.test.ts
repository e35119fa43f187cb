/** The explorer in a real browser: login, addresses, and the first pages. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  closeAfterAll,
  dataRequestsOf,
  type Explored,
  expectAccessible,
  HAS_BROWSER,
  signIn,
  startExplored,
  TestBrowser,
} from './explored.ts'

const ALETA = '58c297c4-d684-4677-8024-01131d93835e'

;(HAS_BROWSER ? describe : describe.skip)('the explorer', () => {
  let open: Explored
  let closed: Explored
  let browser: TestBrowser

  beforeAll(async () => {
    ;[open, closed, browser] = await Promise.all([startExplored('open'), startExplored('token'), TestBrowser.launch()])
  })

  closeAfterAll(() => [browser, open, closed])
  afterAll(() => expect(browser?.problems).toEqual([]))

  it('leads from the root of an open server to a resource', async () => {
    const page = await browser.open(new URL('/', open.base).href)
    await page.getByRole('link', { name: /^Patient 3$/ }).click()
    await page.getByRole('heading', { name: 'Patient', exact: true }).waitFor()
    expect(page.url()).toBe(`${open.base}/explorer/Patient`)
    await page.getByRole('cell', { name: /Aleta Wintheiser/ }).waitFor()
    await page
      .getByRole('row', { name: /Aleta Wintheiser/ })
      .getByRole('link')
      .click()
    await page.getByRole('heading', { name: `Patient/${ALETA}` }).waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'Patient', exact: true }).waitFor()
  })

  it('leads a person without a session to the login, and back to the address', async () => {
    const page = await browser.open(`${closed.base}/Patient/${ALETA}`)
    await signIn(page, 'doctor')
    await page.getByRole('heading', { name: `Patient/${ALETA}` }).waitFor()
    expect(page.url()).toBe(`${closed.base}/explorer/Patient/${ALETA}`)
    await page.reload()
    await page.getByRole('heading', { name: `Patient/${ALETA}` }).waitFor()
    expect(page.url()).toBe(`${closed.base}/explorer/Patient/${ALETA}`)
  })

  it('links the page of the status for administrators only', async () => {
    for (const [user, count] of [
      ['admin', 1],
      ['doctor', 0],
    ] as const) {
      const page = await browser.open(`${closed.base}/`)
      await signIn(page, user)
      await page.getByRole('heading', { name: 'Resources' }).waitFor()
      expect(await page.getByRole('link', { name: 'Status', exact: true }).count()).toBe(count)
    }
  })

  it('shows a patient nothing of another patient', async () => {
    const page = await browser.open(`${closed.base}/Patient`)
    await signIn(page, 'ann')
    await page.getByText('1 in all, 1 shown').waitFor()
    await page.goto(`${closed.base}/explorer/Patient/8d3e1155-278a-4824-a7e0-fddb24c7c179`)
    await page.getByRole('alert').waitFor()
    expect(await page.getByText('Gibson').count()).toBe(0)
  })

  it('marks types without access beside the counts of the others', async () => {
    const page = await browser.open(`${closed.base}/`)
    await signIn(page, 'reader')
    await page.getByRole('link', { name: 'Patient 3' }).waitFor()
    await page.getByRole('link', { name: 'Observation no access' }).waitFor()
  })

  it('needs one request per page, and on home two more for an administrator', async () => {
    const closedPage = await browser.open(`${closed.base}/`)
    const sentByDoctor = dataRequestsOf(closedPage, closed.base)
    await signIn(closedPage, 'doctor')
    await closedPage.getByRole('link', { name: /^Patient 3$/ }).waitFor()
    await closedPage.getByText(/^Version \d+\.\d+\.\d+, embedded$/).waitFor()
    expect(sentByDoctor).toEqual(['POST /'])
    const page = await browser.open('about:blank')
    const sent = dataRequestsOf(page, open.base)
    await page.goto(`${open.base}/explorer`)
    await page.getByRole('link', { name: /^Patient 3$/ }).waitFor()
    await page.getByRole('link', { name: 'Status of the index' }).waitFor()
    await page.getByText('No export is running.').waitFor()
    expect(sent.toSorted()).toEqual(['GET /$reindex-status', 'GET /export?state=in-progress&_count=100', 'POST /'])
    await page.goto(`${open.base}/explorer/Observation?code=http://loinc.org|4548-4&_sort=-date`)
    await page.getByRole('table').waitFor()
    await page.goto(`${open.base}/explorer/Patient/${ALETA}`)
    await page.getByText('Version 1').waitFor()
    expect(sent.slice(3)).toEqual(['GET /Observation?code=http://loinc.org|4548-4&_sort=-date', `GET /Patient/${ALETA}`])
  })

  it('shows each request with its cost and as curl, and an administrator its plan', async () => {
    const page = await browser.open(`${open.base}/explorer/Patient?name=wintheiser`)
    await page.getByText('GET /fhir/Patient?name=wintheiser').click()
    await page.getByText(`'${open.base}/Patient?name=wintheiser'`).waitFor()
    await page.getByRole('button', { name: 'Show the plan' }).click()
    await page.getByText('The plan:').waitFor()
  })

  it('shows an administrator the plan of each search of a batch, but sends no batch again that writes', async () => {
    const page = await browser.open(`${open.base}/explorer/Patient/${ALETA}/member`)
    await page.getByText('POST /fhir/').click()
    await page.getByRole('button', { name: 'Show the plans' }).click()
    await page.getByText(/^Coverage\?patient=.*\s+The plan:/).waitFor()
    expect(await page.getByText('The plan:').count()).toBe(5)
    await page.goto(`${open.base}/explorer/requests`)
    const write = { request: { method: 'PUT', url: 'Basic/batch' }, resource: { resourceType: 'Basic', id: 'batch', code: { text: 'a' } } }
    const entry = [{ request: { method: 'GET', url: 'Patient' } }, write]
    await page.getByLabel('Method').selectOption('POST')
    await page.getByLabel('Path below the base').fill('/')
    await page.getByLabel('Body').fill(JSON.stringify({ resourceType: 'Bundle', type: 'batch', entry }))
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByRole('heading', { name: 'Status 200' }).waitFor()
    await page.getByRole('region', { name: 'Requests behind this page' }).getByText('POST /fhir/').click()
    await page.getByRole('button', { name: 'Copy curl' }).waitFor()
    expect(await page.getByRole('button', { name: /^Show the plan/ }).count()).toBe(0)
  })

  it('sends no PATCH again for plans, although its response looks like that of a batch', async () => {
    const entry = [{ resource: { resourceType: 'Bundle', type: 'searchset', total: 0 }, response: { status: '200' } }]
    const stored = { resourceType: 'Bundle', id: 'answers', type: 'batch-response', entry }
    expect((await open.request('PUT', '/Bundle/answers', stored)).status).toBe(201)
    const page = await browser.open(`${open.base}/explorer/requests`)
    await page.getByLabel('Method').selectOption('PATCH')
    await page.getByLabel('Path below the base').fill('/Bundle/answers')
    await page.getByLabel('Body').fill(JSON.stringify([{ op: 'add', path: '/entry/-', value: entry[0] }]))
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByRole('heading', { name: 'Status 200' }).waitFor()
    await page.getByRole('region', { name: 'Requests behind this page' }).getByText('PATCH /fhir/').click()
    await page.getByRole('button', { name: 'Copy curl' }).waitFor()
    expect(await page.getByRole('button', { name: /^Show the plan/ }).count()).toBe(0)
  })

  it('keeps chosen columns, sorts by a header, and follows cursors', async () => {
    const page = await browser.open(`${open.base}/explorer/Observation?_count=5`)
    await page.getByText('Columns', { exact: true }).click()
    await page.getByLabel('status', { exact: true }).check()
    await page.getByRole('columnheader', { name: 'status' }).waitFor()
    await page.reload()
    await page.getByRole('columnheader', { name: 'status' }).waitFor()
    await page.getByRole('link', { name: 'effectiveDateTime' }).click()
    await page.getByRole('link', { name: 'effectiveDateTime ↑' }).waitFor()
    expect(new URL(page.url()).searchParams.get('_sort')).toBe('date')
    const first = page.getByRole('cell', { name: (await page.getByRole('cell').first().textContent())!, exact: true })
    await page.getByRole('link', { name: 'Next' }).click()
    await first.waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Next' }).waitFor()
  })

  it('writes with If-Match, shows a refusal, and marks the element', async () => {
    await open.request('PUT', '/Organization/edited', { resourceType: 'Organization', id: 'edited', name: 'Before' })
    const page = await browser.open(`${open.base}/explorer/Organization/edited`)
    await page.getByRole('button', { name: 'Edit' }).click()
    const editor = page.getByLabel('JSON of the resource')
    const text = await editor.inputValue()
    await editor.fill(text.replace('"Before"', '7'))
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('alert').getByText('Organization.name').waitFor()
    await open.request('PUT', '/Organization/edited', { resourceType: 'Organization', id: 'edited', name: 'Meanwhile' })
    await editor.fill(text.replace('Before', 'After'))
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('alert').getByText('412').waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Edit' }).click()
    await editor.fill((await editor.inputValue()).replace('Meanwhile', 'After'))
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Version 3').waitFor()
    browser.problems.length = 0
  })

  it('keeps an unsaved edit while it renews the login, and still protects changes of others', async () => {
    await closed.request('PUT', '/Organization/kept', { resourceType: 'Organization', id: 'kept', name: 'Before' })
    const page = await browser.open(`${closed.base}/explorer`)
    await signIn(page, 'doctor')
    await page.clock.install()
    await page.goto(`${closed.base}/explorer/Organization/kept`)
    await page.getByRole('button', { name: 'Edit' }).click()
    const editor = page.getByLabel('JSON of the resource')
    await editor.fill((await editor.inputValue()).replace('Before', 'After'))
    await closed.request('PUT', '/Organization/kept', { resourceType: 'Organization', id: 'kept', name: 'Meanwhile' })
    await page.clock.fastForward('02:00:00')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Version 2').waitFor()
    expect(await editor.inputValue()).toContain('"After"')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('alert').getByText('412').waitFor()
    browser.problems.length = 0
  })

  it('is used by the keyboard alone', async () => {
    const page = await browser.open(`${open.base}/explorer`)
    const press = async (name: string | RegExp): Promise<void> => {
      const link = page.getByRole('link', { name }).first()
      await link.waitFor()
      const isFocused = () => link.evaluate((element) => element === document.activeElement)
      while (!(await isFocused())) await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')
    }
    await page.getByRole('link', { name: 'Patient 3' }).waitFor()
    await page.keyboard.press('Tab')
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to the content')
    await press('Patient 3')
    await press(ALETA)
    await page.getByRole('heading', { name: `Patient/${ALETA}` }).waitFor()
    await press('Chart')
    await page.getByRole('heading', { name: 'Observations' }).waitFor()
    await press('Member')
    await page.getByRole('heading', { name: 'Explanations of benefit' }).waitFor()
  })

  it('paints before the server answers a request for data', async () => {
    const page = await browser.open('about:blank')
    let answer: () => void = () => undefined
    const held = new Promise<void>((resolve) => {
      answer = resolve
    })
    await page.route(`${open.base}/`, async (route) => {
      await held
      await route.continue()
    })
    await page.goto(`${open.base}/explorer`)
    await page.getByRole('link', { name: 'FHIR explorer' }).waitFor()
    await page.getByText('Loading …').waitFor()
    answer()
    await page.getByRole('link', { name: 'Patient 3' }).waitFor()
  })

  it('saves the rows as CSV in UTF-8, and runs no text as a formula', async () => {
    const code = { text: '=1+"ä"' }
    await open.request('PUT', '/Observation/csv', { resourceType: 'Observation', id: 'csv', status: 'final', code, valueInteger: -5 })
    const page = await browser.open(`${open.base}/explorer/Observation?_id=csv`)
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save as CSV' }).click()])
    const lines = readFileSync(await download.path(), 'utf8').split('\r\n')
    expect([download.suggestedFilename(), lines]).toEqual([
      'Observation.csv',
      ['\ufeff"id","code","valueInteger","status"', `"csv","'=1+""ä""","-5","final"`],
    ])
  })

  it('names parameters that the server ignored, and does not deny matches that the query leaves out', async () => {
    const page = await browser.open(`${open.base}/explorer/Patient?nmae=wintheiser&_summary=count`)
    await page.getByText('warning The server ignored nmae').waitFor()
    await page.getByText('This response has no resources.').waitFor()
    await page.goto(`${open.base}/explorer/Observation?_group=code:code&_count=2&status=final`)
    await page.getByRole('link', { name: 'Next' }).click()
    await page.getByText(/^GET .*_cursor=/).waitFor()
    expect(await page.getByText('The server ignored').count()).toBe(0)
  })

  it('counts the references to a resource on request', async () => {
    const page = await browser.open(`${open.base}/explorer/Patient/${ALETA}`)
    await page.getByRole('button', { name: 'Count references' }).click()
    await page.getByRole('link', { name: 'AllergyIntolerance:patient' }).waitFor()
  })

  it('shows a refused token once, without a loop of logins', async () => {
    const page = await browser.open(`${closed.base}/explorer`)
    await signIn(page, 'doctor')
    await page.route('**/Patient', (route) => route.fulfill({ status: 401, body: '{"resourceType":"OperationOutcome"}' }))
    await page.getByRole('link', { name: 'Patient 3' }).click()
    await page.getByRole('alert').getByText('401').waitFor()
    browser.problems.length = 0
  })

  it('finds a person by name, identifier and id', async () => {
    const page = await browser.open(`${open.base}/explorer`)
    const box = page.getByLabel('Name, identifier, id or path')
    for (const text of ['Wintheiser', '999-33-6284', ALETA]) {
      await box.fill(text)
      await box.press('Enter')
      await page.getByRole('heading', { name: `Search for ${text}` }).waitFor()
      await page
        .getByRole('link', { name: /Aleta Wintheiser/ })
        .first()
        .waitFor()
    }
  })

  describe.each([
    ['/explorer', 'Resources'],
    ['/explorer/Patient', 'Patient'],
    [`/explorer/Patient/${ALETA}`, `Patient/${ALETA}`],
    ['/explorer/Patient/unknown', 'Patient/unknown'],
    ['/explorer/find?text=wintheiser', 'Search for wintheiser'],
    ['/explorer/nothing/here', 'No such page'],
  ])('%s', (path, title) => {
    it('has no finding of axe-core, and fits the screen, wide and narrow, light and dark', async () => {
      const page = await browser.open(`${open.base}${path}`)
      await page.getByRole('heading', { name: title, exact: true }).waitFor()
      await page.getByText('Loading …').waitFor({ state: 'detached' })
      await expectAccessible(page)
      browser.problems.length = 0
    })
  })
})
