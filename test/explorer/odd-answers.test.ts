/** The pages show a person a server that fails, a lost connection, and unusual resources. */
import { beforeAll, describe, expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'
import { closeAfterAll, type Explored, forbidStorage, HAS_BROWSER, startExplored, TestBrowser } from './explored.ts'

const ALETA = '58c297c4-d684-4677-8024-01131d93835e'
const LONG = 'a'.repeat(10_000_000)

const OUTCOME = {
  resourceType: 'OperationOutcome',
  issue: [{ severity: 'error', code: 'throttled', details: { text: 'The server is busy' } }],
}

;(HAS_BROWSER ? describe : describe.skip)('the explorer shows', () => {
  let server: Explored
  let browser: TestBrowser

  beforeAll(async () => {
    ;[server, browser] = await Promise.all([startExplored('open'), TestBrowser.launch()])
  })

  closeAfterAll(() => [browser, server])

  /** Opens a page whose requests below a path of the API get this answer. */
  async function openWith(page: string, pattern: string, answer: object | undefined, status = 200): Promise<Page> {
    const opened = await browser.open('about:blank')
    await opened.route(`${server.base}${pattern}`, (route) =>
      answer === undefined ? route.abort() : route.fulfill({ status, contentType: 'application/fhir+json', body: JSON.stringify(answer) }),
    )
    await opened.goto(`${server.base}/explorer${page}`)
    return opened
  }

  it('a server that is busy, with its reason, and tries again', async () => {
    const page = await openWith('/Patient', '/Patient', OUTCOME, 503)
    await page.getByRole('alert').getByText('The server is busy').waitFor()
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('cell', { name: /Wintheiser/ }).waitFor()
  })

  it('a lost connection, and tries again', async () => {
    const page = await openWith('/Patient', '/Patient', undefined)
    await page.getByRole('alert').getByText('The server did not answer').waitFor()
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('cell', { name: /Wintheiser/ }).waitFor()
  })

  it.each([
    ['home', '', '/'],
    ['home for an administrator', '', '/$reindex-status'],
    ['the chart', `/Patient/${ALETA}/chart`, '/Observation?**'],
    ['the search parameters', '/parameters', '/$reindex-status'],
    ['the exports', '/exports', '/export?**'],
    ['the status', '/status', '/export?**'],
  ])('the request that was refused, among the requests of the page: %s', async (_, path, pattern) => {
    const page = await openWith(path, pattern, OUTCOME, 503)
    await page
      .getByRole('region', { name: 'Requests behind this page' })
      .getByText(/^503 · \d+ ms/)
      .waitFor()
    await page.getByRole('alert').getByText('The server is busy').waitFor()
  })

  it('an answer that is no FHIR JSON', async () => {
    const page = await browser.open('about:blank')
    await page.route(`${server.base}/Patient`, (route) =>
      route.fulfill({ status: 502, contentType: 'text/html', body: '<h1>Bad gateway</h1>' }),
    )
    await page.goto(`${server.base}/explorer/Patient`)
    await page.getByRole('alert').getByText('The server answered 502').waitFor()
    expect(await page.getByText('Bad gateway').count()).toBe(0)
  })

  it('a success that is no FHIR JSON, in place of an empty result', async () => {
    const page = await browser.open('about:blank')
    await page.route(`${server.base}/Patient`, (route) => route.fulfill({ contentType: 'text/html', body: '<h1>Proxy</h1>' }))
    await page.goto(`${server.base}/explorer/Patient`)
    await page.getByRole('alert').getByText('The server answered 200, but with no JSON').waitFor()
    expect(await page.getByText('No resource matches.').count()).toBe(0)
  })

  it('a type without resources', async () => {
    const page = await browser.open(`${server.base}/explorer/Basic`)
    await page.getByText('No resource matches.').waitFor()
    await page.getByText('0 in all, 0 shown').waitFor()
  })

  it('a total that is absent, and one of ten million', async () => {
    const entry = [{ resource: { resourceType: 'Basic', id: '1', code: { text: 'First' } }, search: { mode: 'match' } }]
    const bundle = { resourceType: 'Bundle', type: 'searchset', entry }
    await (await openWith('/Basic', '/Basic', bundle)).getByText('1 shown, total unknown').waitFor()
    await (await openWith('/Basic', '/Basic', { ...bundle, total: 10_000_000 })).getByText('10,000,000 in all, 1 shown').waitFor()
  })

  it('a number with all its digits, also after an edit', async () => {
    const digits = '0.12345678901234567890'
    const quantity = { value: 'DIGITS', unit: 'mg' }
    const observation = { resourceType: 'Observation', id: 'exact', status: 'final', code: { text: 'Exact' }, valueQuantity: quantity }
    const body = JSON.stringify(observation).replace('"DIGITS"', digits)
    const headers = { 'content-type': 'application/fhir+json' }
    expect((await fetch(`${server.base}/Observation/exact`, { method: 'PUT', headers, body })).status).toBe(201)
    const page = await browser.open(`${server.base}/explorer/Observation/exact`)
    await page.getByText(`${digits} mg`).waitFor()
    await page.getByRole('button', { name: 'JSON', exact: true }).click()
    await page.getByText(digits).waitFor()
    await page.getByRole('button', { name: 'Edit' }).click()
    const editor = page.getByLabel('JSON of the resource')
    await editor.fill((await editor.inputValue()).replace('Exact', 'Changed'))
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Version 2').waitFor()
    await page.getByText(`${digits} mg`).waitFor()
  })

  it('a saved resource in place of the editor, also if a busy browser paints late', async () => {
    expect((await server.request('PUT', '/Basic/saved', { resourceType: 'Basic', id: 'saved', code: { text: 'First' } })).status).toBe(201)
    const page = await browser.open(`${server.base}/explorer/Basic/saved`)
    await page.getByRole('button', { name: 'Edit' }).click()
    const editor = page.getByLabel('JSON of the resource')
    await editor.fill((await editor.inputValue()).replace('First', 'Second'))
    // The page paints no more until the clock goes on.
    await page.clock.pauseAt(Date.now() + 60_000)
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Version 2').waitFor()
    await page.getByText('Second', { exact: true }).waitFor()
  })

  it('a plot of numbers that differ in their last digits only, and none of numbers that are too large', async () => {
    const patient = await server.request('PUT', '/Patient/digits', { resourceType: 'Patient', id: 'digits' })
    expect(patient.status).toBe(201)
    const series = [
      ['close', '12345678901234567890', '12345678901234569984'],
      ['large', '1e308', '-1e308'],
    ] as const
    for (const [code, ...values] of series)
      for (const [i, value] of values.entries()) {
        const observation = {
          ...{ resourceType: 'Observation', id: `${code}${i}`, status: 'final', subject: { reference: 'Patient/digits' } },
          ...{ code: { coding: [{ system: 'http://a', code }] }, effectiveDateTime: `2020-01-0${i + 1}` },
          valueQuantity: { value: 'DIGITS', unit: 'mg' },
        }
        const text = JSON.stringify(observation).replace('"DIGITS"', value)
        const headers = { 'content-type': 'application/fhir+json' }
        expect((await fetch(`${server.base}/Observation/${code}${i}`, { method: 'PUT', headers, body: text })).status).toBe(201)
      }
    const page = await browser.open(`${server.base}/explorer/Patient/digits/chart`)
    await page.locator('.card').nth(1).waitFor()
    await page.locator('.plot canvas').waitFor()
    await page.getByText('12345678901234569984 mg').waitFor()
    expect(await page.locator('.plot').count()).toBe(1)
  })

  it('the text of a resource with a string of ten megabytes in the editor', async () => {
    const resource = { resourceType: 'Basic', id: 'large', code: { text: ['"', LONG, '"', '\\'].join('') } }
    const page = await openWith('/Basic/large', '/Basic/large', resource)
    await page.getByRole('button', { name: 'Edit' }).click()
    const text = await page.getByLabel('JSON of the resource').inputValue()
    expect(text.startsWith('{\n  "resourceType": "Basic",\n  "id"')).toBe(true)
    expect(JSON.stringify(JSON.parse(text)) === JSON.stringify(resource)).toBe(true)
  })

  it('the result of a search in all types, to which a browser is led', async () => {
    const page = await browser.open(`${server.base}?_type=Organization&_count=1`)
    await page.getByRole('heading', { name: 'Search in all types' }).waitFor()
    await page.getByText('5 in all, 1 shown').waitFor()
    await page.getByRole('link', { name: 'Next' }).click()
    await page.waitForURL(/explorer.*_cursor=/)
    await page.getByText('5 in all, 1 shown').waitFor()
    await page.getByRole('link', { name: 'FHIR explorer' }).click()
    await page.getByRole('heading', { name: 'Resources' }).waitFor()
  })

  it('an address that cannot be decoded, and a period that is no number of days', async () => {
    const page = await browser.open(`${server.base}/explorer/exports?days=1e300&state=constructor`)
    await page.getByRole('status').getByText('No exports').waitFor()
    await page.getByLabel('Name, identifier, id or path').fill('Patient/%zz')
    await page.getByLabel('Name, identifier, id or path').press('Enter')
    await page.getByRole('heading', { name: 'No such page' }).waitFor()
  })

  it('a name that is read from right to left, in its own direction', async () => {
    await server.request('PUT', '/Patient/rtl', { resourceType: 'Patient', id: 'rtl', name: [{ family: 'حداد', given: ['ليلى'] }] })
    const page = await browser.open(`${server.base}/explorer/Patient/rtl`)
    const name = page.getByText('ليلى حداد')
    await name.waitFor()
    expect(await name.evaluate((element) => getComputedStyle(element).direction)).toBe('rtl')
    expect(await page.evaluate(() => getComputedStyle(document.body).direction)).toBe('ltr')
  })

  it('a resource of five megabytes', async () => {
    const data = Buffer.alloc(3_900_000, 'a').toString('base64')
    const content = [{ attachment: { contentType: 'text/plain', title: 'Large', data } }]
    const stored = await server.request('PUT', '/DocumentReference/large', {
      resourceType: 'DocumentReference',
      id: 'large',
      status: 'current',
      content,
    })
    expect(stored.status).toBe(201)
    const page = await browser.open(`${server.base}/explorer/DocumentReference/large`)
    await page.getByRole('button', { name: 'Save Large' }).waitFor()
    await page.getByRole('button', { name: 'JSON', exact: true }).click()
    await page.getByText('"contentType"').waitFor()
  })

  it('its pages in a browser that allows no storage', async () => {
    const page = await browser.open('about:blank')
    await forbidStorage(page)
    await page.goto(`${server.base}/explorer/Organization`)
    await page.getByRole('table').waitFor()
    await page.getByText('Columns', { exact: true }).click()
    await page.getByLabel('address', { exact: true }).click()
    await page.getByRole('alert').getByText('The browser did not store this').waitFor()
  })

  it('an error in place of data that a page cannot show, and other pages after it', async () => {
    const page = await browser.open('about:blank')
    await page.addInitScript(() => {
      Number.prototype.toLocaleString = () => {
        throw new Error('No such locale')
      }
    })
    await page.goto(`${server.base}/explorer/Organization`)
    await page.getByRole('heading', { name: 'This page cannot be shown' }).waitFor()
    await page.getByRole('alert').getByText('No such locale').waitFor()
    await page.getByRole('button', { name: 'Try again' }).waitFor()
    await page.getByRole('link', { name: 'Requests' }).click()
    await page.getByRole('heading', { name: 'Requests', exact: true }).waitFor()
  })

  it('a failed copy where the browser has no clipboard', async () => {
    const page = await browser.open('about:blank')
    await page.addInitScript(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }))
    await page.goto(`${server.base}/explorer/Organization`)
    await page.getByRole('button', { name: 'Copy scope' }).click()
    await page.getByRole('button', { name: 'Not copied: the browser forbids it' }).waitFor()
  })

  it('a group of ten thousand of which a hundred are there', async () => {
    const group = [
      { url: 'key', valueString: 'http://loinc.org|4548-4' },
      { url: 'size', valueInteger: 10_000 },
    ]
    const extension = [{ url: 'urn:fhir-serverless:StructureDefinition:search-group', extension: group }]
    const entry = Array.from({ length: 100 }, (_, i) => ({
      resource: { resourceType: 'Observation', id: `o${i}`, status: 'final', code: { text: 'HbA1c' } },
      search: { mode: 'match', extension },
    }))
    const bundle = { resourceType: 'Bundle', type: 'searchset', total: 10_000, entry }
    const page = await openWith('/Observation?_group=code:code&_groupCount=100', '/Observation?**', bundle)
    await page.getByRole('rowheader', { name: 'http://loinc.org|4548-4 (10,000 resources)' }).waitFor()
    await page.getByText('10,000 in all, 100 shown').waitFor()
  })
})
