/** The pages for operators and developers: history, requests, status, search parameters, and grouped results. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'
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
const NICKNAME = { resourceType: 'SearchParameter', id: 'nickname', url: 'http://example.org/nickname', name: 'nickname', status: 'active', description: 'x', code: 'nickname', base: ['Patient'], type: 'string', expression: "Patient.name.where(use = 'nickname').given" } // biome-ignore format: one resource
const ORGANIZATION = { resourceType: 'Organization', id: 'changed' }

/** Answers `$reindex-status` in place of the server: one answer after another, the last one for all further requests. */
async function stubStatus(page: Page, answers: readonly object[]): Promise<void> {
  let sent = 0
  await page.route('**/$reindex-status', (route) =>
    route.fulfill({
      contentType: 'application/fhir+json',
      body: JSON.stringify({ resourceType: 'Parameters', ...answers[Math.min(sent++, answers.length - 1)] }),
    }),
  )
}

const rebuild = (done: number) => ({ name: 'rebuild', part: [{ name: 'type', valueCode: 'Patient' }, { name: 'done', valueInteger: done }, { name: 'total', valueInteger: 90 }, { name: 'searched', valueBoolean: false }] }) // biome-ignore format: one parameter
const UNREADABLE = { name: 'unreadable', part: [{ name: 'resource', valueReference: { reference: `Patient/${ALETA}/_history/1` } }, { name: 'reason', valueString: 'no date' }] } // biome-ignore format: one parameter
const BUILDING = { name: 'parameter', part: [{ name: 'resource', valueReference: { reference: 'SearchParameter/nickname' } }, { name: 'base', valueCode: 'Patient' }, { name: 'code', valueCode: 'nickname' }, { name: 'state', valueCode: 'building' }] } // biome-ignore format: one parameter

;(HAS_BROWSER ? describe : describe.skip)('the explorer for operators', () => {
  let open: Explored
  let closed: Explored
  let browser: TestBrowser

  beforeAll(async () => {
    ;[open, closed, browser] = await Promise.all([startExplored('open'), startExplored('token'), TestBrowser.launch()])
    await open.request('PUT', '/SearchParameter/nickname', NICKNAME)
    await open.request('PUT', '/Organization/changed', { ...ORGANIZATION, name: 'First', alias: ['A', 'B'] })
    await open.request('PUT', '/Organization/changed', { ...ORGANIZATION, name: 'Second', alias: ['A'] })
    await open.request('PUT', '/Organization/changed', { ...ORGANIZATION, name: 'Third', active: true })
    await open.request('DELETE', '/Organization/changed')
  })

  closeAfterAll(() => [browser, open, closed])
  afterAll(() => expect(browser?.problems).toEqual([]))

  describe('history', () => {
    it('lists the versions of a resource with their kinds, and compares any two of them', async () => {
      const page = await browser.open(`${open.base}/explorer/Organization/changed/_history`)
      await page.getByText('4 in all, 4 shown').waitFor()
      const kinds = await page.getByRole('region', { name: 'Versions' }).locator('tbody td:nth-child(3)').allTextContents()
      expect(kinds).toEqual(['deleted', 'updated', 'updated', 'created'])
      await page.getByText('Version 4 is a deletion.').waitFor()
      await page.getByLabel('To version 3').check()
      await page.getByText('No element differs.').waitFor()
      await page.getByLabel('From version 1').check()
      const row = (name: string) => page.getByRole('region', { name: 'Differences' }).getByRole('row', { name })
      await row('name changed "First" "Third"').waitFor()
      await row('active added true').waitFor()
      await row('alias removed ["A", "B"]').waitFor()
      expect(await page.getByRole('region', { name: 'Differences' }).locator('tbody tr').count()).toBe(3)
      await page.reload()
      await row('name changed "First" "Third"').waitFor()
      await page.getByRole('link', { name: '2', exact: true }).click()
      await page.getByText('Version 2').waitFor()
    })

    it('follows the pages, and reads chosen versions of other pages', async () => {
      const page = await browser.open(`${open.base}/explorer/Organization/changed/_history?_count=2&from=1&to=2`)
      const alias = page.getByRole('row', { name: 'alias[1] removed "B"' })
      await alias.waitFor()
      await page.getByRole('link', { name: 'Next' }).click()
      await page.getByLabel('To version 2').waitFor()
      expect(await page.getByLabel('To version 2').isChecked()).toBe(true)
      await alias.waitFor()
      await page.goto(`${open.base}/explorer/Organization/changed/_history?_count=1&from=4&to=9`)
      await page.getByRole('alert').getByText('404').waitFor()
      browser.problems.length = 0
    })

    it('lists the versions of a type and of all types', async () => {
      const page = await browser.open(`${open.base}/explorer/Organization`)
      await page.getByRole('link', { name: 'History', exact: true }).click()
      await page.getByRole('row', { name: /^Organization\/changed 4 .* deleted$/ }).waitFor()
      await page.goto(`${open.base}/explorer/_history?_count=3`)
      await page.getByText('3 shown, total unknown').waitFor()
      await page.getByRole('link', { name: 'Next' }).click()
      await page.getByRole('row', { name: /^Organization\/changed 1 .* created$/ }).waitFor()
    })
  })

  describe('requests', () => {
    it('sends a request, shows its answer, and keeps the form while other pages are open', async () => {
      const page = await browser.open(`${open.base}/explorer/requests`)
      await page.getByText('This tab has sent no request yet.').waitFor()
      await page.getByLabel('Path below the base').fill(`${open.base}/Observation?patient=${ALETA}&_count=1`)
      await page.getByLabel(/Headers/).fill('Prefer: handling=strict\nX-Consistency: eventual')
      await page.getByLabel('Path below the base').press('Enter')
      await page.getByRole('heading', { name: 'Status 200' }).waitFor()
      await page.getByText('x-request-id').waitFor()
      await page.getByRole('link', { name: `"Patient/${ALETA}"` }).click()
      await page.getByRole('heading', { name: `Patient/${ALETA}` }).waitFor()
      await page.goBack()
      await page.getByRole('heading', { name: 'Status 200' }).waitFor()
      expect(await page.getByLabel('Path below the base').inputValue()).toContain('/Observation?patient=')
      await page.getByRole('button', { name: `GET /Patient/${ALETA}` }).click()
      expect(await page.getByLabel('Path below the base').inputValue()).toBe(`/Patient/${ALETA}`)
    })

    it('sends a write only by its button, and shows a refusal', async () => {
      const page = await browser.open(`${open.base}/explorer/requests`)
      const sent = dataRequestsOf(page, open.base)
      await page.getByLabel('Method').selectOption('POST')
      await page.getByLabel('Path below the base').fill('/Organization')
      await page.getByLabel('Body').fill('{"resourceType":"Organization","name":7}')
      await page.getByLabel('Path below the base').press('Enter')
      expect(sent).toEqual([])
      await page.getByRole('button', { name: 'Send', exact: true }).click()
      await page.getByRole('heading', { name: /Status 4/ }).waitFor()
      await page.getByText('"Organization.name"').waitFor()
      expect(sent).toEqual(['POST /Organization'])
      await page.getByLabel(/Headers/).fill('no header')
      await page.getByRole('button', { name: 'Send', exact: true }).click()
      await page.getByRole('alert').getByText('"no header" is not a header').waitFor()
      browser.problems.length = 0
    })
  })

  describe('status', () => {
    it('shows progress, and updates while work is running and the page is open', async () => {
      const page = await browser.open('about:blank')
      await page.clock.install()
      await stubStatus(page, [
        { parameter: [{ name: 'lag', valueInteger: 3 }, rebuild(30), BUILDING, UNREADABLE] },
        { parameter: [{ name: 'lag', valueInteger: 1 }, rebuild(60)] },
        { parameter: [{ name: 'lag', valueInteger: 0 }] },
      ])
      const sent = dataRequestsOf(page, open.base)
      await page.goto(`${open.base}/explorer/status`)
      await page.getByText('Searches do not find 3 versions yet.').waitFor()
      await page.getByRole('row', { name: /^Patient 30 of 90 .*refused until it is done$/ }).waitFor()
      await page.getByRole('row', { name: 'nickname Patient nickname building' }).waitFor()
      await page.getByRole('row', { name: `Patient/${ALETA}/_history/1 no date` }).waitFor()
      await page.clock.runFor(3_000)
      await page.getByRole('row', { name: /^Patient 60 of 90/ }).waitFor()
      await page.clock.runFor(3_000)
      await page.getByText('Searches find every version.').waitFor()
      await page.clock.runFor(60_000)
      expect(sent.filter((each) => each === 'GET /$reindex-status')).toHaveLength(3)
      const answered = page.waitForResponse((response) => response.url().endsWith('$reindex-status'))
      await page.getByRole('button', { name: 'Update' }).click()
      await answered
    })

    it('stops when the person leaves the page', async () => {
      const page = await browser.open('about:blank')
      await page.clock.install()
      await stubStatus(page, [{ parameter: [rebuild(30)] }])
      const sent = dataRequestsOf(page, open.base)
      await page.goto(`${open.base}/explorer/status`)
      await page.getByText('30 of 90').waitFor()
      await page.getByRole('link', { name: 'Requests' }).click()
      await page.getByRole('heading', { name: 'Recent requests' }).waitFor()
      await page.clock.runFor(60_000)
      expect(sent.filter((each) => each === 'GET /$reindex-status')).toHaveLength(1)
    })

    it.each(['status', 'parameters'])('is for administrators only: %s', async (name) => {
      const page = await browser.open(`${closed.base}/explorer/${name}`)
      await signIn(page, 'doctor')
      await page.getByText('Only administrators may see this page.').waitFor()
    })
  })

  describe('search parameters', () => {
    it('tries an expression on a stored resource and on JSON', async () => {
      const page = await browser.open(`${open.base}/explorer/parameters`)
      await page.getByLabel('FHIRPath expression').fill('Patient.name.family')
      await page.getByLabel('Resource, as type and id or as JSON').fill(`Patient/${ALETA}`)
      await page.getByRole('button', { name: 'Evaluate' }).click()
      await page.getByRole('row', { name: '1 string Patient.name[0].family "Wintheiser' }).first().waitFor()
      await page.getByLabel('FHIRPath expression').fill('Observation.value.value')
      await page
        .getByLabel('Resource, as type and id or as JSON')
        .fill('{"resourceType":"Observation","status":"final","code":{"text":"x"},"valueQuantity":{"value":1.50}}')
      await page.getByRole('button', { name: 'Evaluate' }).click()
      await page.getByRole('row', { name: '1 decimal Observation.value.value 1.50' }).waitFor()
      await page.getByLabel('FHIRPath expression').fill('Patient.name.(')
      await page.getByRole('button', { name: 'Evaluate' }).click()
      await page.getByRole('alert').getByText('The expression is no FHIRPath').waitFor()
      browser.problems.length = 0
    })

    it('defines a parameter, and shows a refusal', async () => {
      const page = await browser.open(`${open.base}/explorer/parameters`)
      await page.getByRole('row', { name: /^nickname Patient string .* active$/ }).waitFor()
      await page.getByLabel('Code').fill('family-start')
      await page.getByLabel(/Resource types/).fill('Patient')
      await page.getByLabel('Expression', { exact: true }).fill('Patient.name.family.(')
      await page.getByRole('button', { name: 'Define' }).click()
      await page.getByRole('alert').getByText('SearchParameter.expression').waitFor()
      await page.getByLabel('Expression', { exact: true }).fill('Patient.name.family.substring(0, 1)')
      await page.getByRole('button', { name: 'Define' }).click()
      await page.getByText('The server accepted family-start').waitFor()
      await page.getByRole('row', { name: 'family-start Patient string Patient.name.family.substring(0, 1) active' }).waitFor()
      await page.getByLabel('Code').fill('family-start')
      await page.getByRole('button', { name: 'Replace' }).waitFor()
      browser.problems.length = 0
    })
  })

  it('shows the state of the index on home, and counts further types', async () => {
    const page = await browser.open('about:blank')
    await stubStatus(page, [{ parameter: [{ name: 'lag', valueInteger: 1 }, rebuild(30)] }])
    await page.goto(`${open.base}/explorer`)
    await page.getByText('Searches do not find 1 version yet. Running rebuilds: Patient 30 of 90.').waitFor()
    for (const left of [126, 106, 86, 66, 46, 26]) await page.getByRole('button', { name: `Count 20 of ${left} other types` }).click()
    await page.getByRole('button', { name: 'Count 6 of 6 other types' }).click()
    await page.getByRole('link', { name: /^ImagingStudy 1/ }).waitFor()
    await page.getByText('other types without resources or access').click()
    await page.getByRole('link', { name: 'VerificationResult 0' }).waitFor()
  })

  it('groups the results of a search below headings', async () => {
    const page = await browser.open(`${open.base}/explorer/Observation?patient=${ALETA}`)
    await page.getByLabel('Group by').fill('code:code')
    expect(await page.getByLabel('Query').inputValue()).toBe(`patient=${ALETA}&_group=code:code`)
    await page.getByLabel('Query').press('Enter')
    await page.getByRole('rowheader', { name: /^4548-4 \(\d+ resources?\)$/ }).waitFor()
    expect(new URL(page.url()).searchParams.get('_group')).toBe('code:code')
    await page.getByLabel('Group by').fill('')
    await page.getByLabel('Query').press('Enter')
    await page.getByRole('rowheader').first().waitFor({ state: 'detached' })
    expect(new URL(page.url()).searchParams.has('_group')).toBe(false)
  })

  it.each([
    ['/Organization/changed/_history?from=1&to=3', 'History of Organization/changed'],
    ['/_history?_count=5', 'History of all resources'],
    ['/requests', 'Requests'],
    ['/status', 'Status'],
    ['/parameters', 'Search parameters'],
    ['/Observation?_group=code:code&_count=5', 'Observation'],
  ])('has no finding of axe-core, and fits the screen, wide and narrow, light and dark: %s', async (path, title) => {
    const page = await browser.open('about:blank')
    if (path === '/status') await stubStatus(page, [{ parameter: [rebuild(30), BUILDING, UNREADABLE] }])
    await page.goto(`${open.base}/explorer${path}`)
    await page.getByRole('heading', { name: title, exact: true }).waitFor()
    if (path === '/requests') {
      await page.getByLabel('Path below the base').fill('/Organization/changed/_history/1')
      await page.getByRole('button', { name: 'Send', exact: true }).click()
      await page.getByRole('heading', { name: 'Status 200' }).waitFor()
      await page.getByLabel('Method').selectOption('PUT')
    } else await page.getByRole('table').last().waitFor()
    await expectAccessible(page)
  })
})
