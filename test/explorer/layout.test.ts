/** The layout of pages on a telephone, in a real browser: nothing is cut, and the columns that matter are on the screen. */
import { beforeAll, describe, expect, it } from '@jest/globals'
import type { Locator, Page } from 'playwright-core'
import { closeAfterAll, type Explored, HAS_BROWSER, startExplored, TestBrowser } from './explored.ts'

const ALETA = '58c297c4-d684-4677-8024-01131d93835e'
const NARROW = 360
const UNBROKEN = `http://example.org/${'long'.repeat(30)}`

const OBSERVATION = {
  resourceType: 'Observation',
  id: 'layout',
  status: 'final',
  code: { text: 'Code without a coding' },
  subject: { reference: `Patient/${ALETA}` },
  effectiveDateTime: '2024-05-01',
}
const PATIENT = {
  resourceType: 'Patient',
  id: 'layout',
  name: [{ family: 'Layout' }],
  identifier: Array.from({ length: 9 }, (_, i) => ({ system: 'http://example.org/ids', value: `identifier-${i}-of-the-patient` })),
}

;(HAS_BROWSER ? describe : describe.skip)('the layout', () => {
  let server: Explored
  let browser: TestBrowser

  beforeAll(async () => {
    ;[server, browser] = await Promise.all([startExplored('open'), TestBrowser.launch()])
    for (const resource of [OBSERVATION, PATIENT]) {
      const response = await server.request('PUT', `/${resource.resourceType}/${resource.id}`, resource)
      if (!response.ok) throw new Error(await response.text())
    }
  })

  closeAfterAll(() => [server, browser])

  const open = (path: string, width = NARROW) => browser.open(`${server.base}/explorer${path}`, { width })
  const endOf = async (element: Locator): Promise<number> => {
    const box = (await element.boundingBox())!
    return box.x + box.width
  }

  it('breaks issues with a long address', async () => {
    const page = await open('/Observation/layout')
    const issue = [{ severity: 'error', code: 'value', details: { text: `Not in ${UNBROKEN}` }, expression: ['Observation.status'] }]
    await page.route('**/$validate', (route) => route.fulfill({ json: { resourceType: 'OperationOutcome', issue } }))
    await page.getByRole('button', { name: 'Validate' }).click()
    await page.getByText(UNBROKEN).waitFor()
    expect(await widthOf(page)).toBe(NARROW)
  })

  it('fits an open form of filters', async () => {
    const page = await open('/Patient?name=layout&_sort=-birthdate&birthdate:missing=true')
    await page.getByText('Filters', { exact: true }).click()
    await page.getByLabel('Comparison 1').waitFor()
    await page.getByText('Save search').click()
    expect(await widthOf(page)).toBe(NARROW)
  })

  it.each([
    ['versions of all resources', '/_history?_count=5', 'Versions', 'Version'],
    ['versions of a resource', `/Patient/${ALETA}/_history`, 'Versions', 'To'],
  ])('has the columns of %s on the screen', async (_, path, region, column) => {
    const page = await open(path)
    const header = page.getByRole('region', { name: region }).getByRole('columnheader', { name: column, exact: true })
    await header.waitFor()
    expect(await endOf(header)).toBeLessThanOrEqual(NARROW)
  })

  it('has the actions of exports on the screen', async () => {
    const page = await open('/requests')
    await page.route('**/fhir/export?*', (route) => route.fulfill({ json: JOBS }))
    await page.getByRole('link', { name: 'Exports' }).click()
    const button = page.getByRole('button', { name: /^Show files/ })
    await button.waitFor()
    expect(await endOf(button)).toBeLessThanOrEqual(NARROW)
  })

  it('cuts a long cell after three lines, and has its whole text on hover', async () => {
    const page = await open('/Patient?_id=layout', 1440)
    const cell = page.getByRole('cell', { name: /identifier-8-of-the-patient/ })
    expect(await cell.getAttribute('title')).toBe(await cell.textContent())
    expect((await cell.boundingBox())!.height).toBeLessThan(100)
  })

  it('shows a reference of a table as a link, and a code without a coding as its text', async () => {
    const page = await open('/Observation?_id=layout', 1440)
    await page.getByRole('cell', { name: 'Code without a coding' }).waitFor()
    await page
      .getByRole('cell')
      .getByRole('link', { name: `Patient/${ALETA}` })
      .click()
    await page.getByRole('heading', { name: `Patient/${ALETA}` }).waitFor()
    await page.goto(`${server.base}/explorer/Observation/layout`)
    expect(await elementOf(page, 'code')).toBe('Code without a coding')
  })

  it('shows dates in one line', async () => {
    const page = await open('/Patient', 1440)
    await page.getByRole('cell', { name: '1971-04-05' }).waitFor()
    const wraps = await page.locator('td.date').evaluateAll((cells) => cells.map((cell) => getComputedStyle(cell).whiteSpace))
    expect(new Set(wraps)).toEqual(new Set(['nowrap']))
  })

  it('names the requests behind the page, and the size of a batch', async () => {
    const page = await open('', 1440)
    const requests = page.getByRole('region', { name: 'Requests behind this page' })
    await requests.getByRole('heading', { name: 'Requests behind this page' }).waitFor()
    await requests.getByText(/^batch of 20 · 200 · \d+ ms/).waitFor()
  })

  it('shows a narrative in the colors of the page', async () => {
    const page = await browser.open(`${server.base}/explorer/Patient/${ALETA}`, { dark: true })
    const body = page.frameLocator('iframe.narrative').locator('body')
    expect(await body.evaluate((element) => getComputedStyle(element).color)).toBe('rgb(255, 255, 255)')
  })
})

const widthOf = (page: Page) => page.evaluate(() => document.documentElement.scrollWidth)

const elementOf = (page: Page, name: string) => page.locator('.elements > div', { hasText: name }).first().locator('dd').textContent()

/** List of exports with one that is complete. */
const JOBS = {
  resourceType: 'Parameters',
  parameter: [
    {
      name: 'export',
      part: [
        { name: 'id', valueId: 'complete' },
        { name: 'state', valueCode: 'complete' },
        { name: 'start', valueInstant: '2031-01-01T03:00:00.000Z' },
        { name: 'request', valueUrl: 'https://fhir.example.org/fhir/Group/a-group-with-a-long-id/$export?_type=Patient' },
        { name: 'client', valueString: 'app' },
        { name: 'own', valueBoolean: true },
      ],
    },
  ],
}
