/** Chart and member page of the explorer in a real browser. */
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
import { LONG_NUMBER, ODD_PATIENT } from './odd-patient.ts'

const ALETA = '58c297c4-d684-4677-8024-01131d93835e'
const cardOf = (page: Page, title: string) =>
  page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: title, exact: true }) })
const sectionOf = (page: Page, name: string) => page.getByRole('region', { name, exact: true })

;(HAS_BROWSER ? describe : describe.skip)('the explorer', () => {
  let open: Explored
  let closed: Explored
  let browser: TestBrowser

  beforeAll(async () => {
    ;[open, closed, browser] = await Promise.all([startExplored('open'), startExplored('token'), TestBrowser.launch()])
    const response = await fetch(open.base, { method: 'POST', headers: { 'content-type': 'application/fhir+json' }, body: ODD_PATIENT })
    expect([response.status, response.ok ? '' : await response.text()]).toEqual([200, ''])
  })

  closeAfterAll(() => [browser, open, closed])
  afterAll(() => expect(browser?.problems).toEqual([]))

  it('leads to the newest HbA1c of a patient in four clicks from home', async () => {
    const page = await browser.open(`${open.base}/explorer`)
    const clicks: (() => Promise<void>)[] = [
      async () => {
        await page.getByLabel('Name, identifier, id or path').fill('wintheiser')
        await page.getByLabel('Name, identifier, id or path').press('Enter')
      },
      () => page.getByRole('link', { name: 'Chart' }).click(),
      () => page.getByLabel('Find a measurement').fill('a1c'),
    ]
    for (const click of clicks) await click()
    expect(clicks.length).toBeLessThanOrEqual(4)
    const card = cardOf(page, 'Hemoglobin A1c/Hemoglobin.total in Blood')
    await card.getByText('5.95 %', { exact: true }).waitFor()
    await card.getByText('2019-04-29').waitFor()
    expect(await page.locator('.card').count()).toBe(1)
  })

  describe('the chart', () => {
    it('shows the patient, the lists and the encounters with two requests', async () => {
      const page = await browser.open('about:blank')
      const sent = dataRequestsOf(page, open.base)
      await page.goto(`${open.base}/explorer/Patient/${ALETA}/chart`)
      await page.getByRole('heading', { name: 'Mrs. Aleta Wintheiser' }).waitFor()
      await page.getByText(/^born 1971-04-05$/).waitFor()
      await page.getByText(/^\d\d years$/).waitFor()
      await sectionOf(page, 'Problems').getByRole('link', { name: 'Prediabetes' }).waitFor()
      await sectionOf(page, 'Medications').getByText('stopped').waitFor()
      expect(await sectionOf(page, 'Allergies').getByRole('link').count()).toBe(5)
      expect(await sectionOf(page, 'Immunizations').getByRole('link').count()).toBe(8)
      const years = sectionOf(page, 'Encounters').getByRole('heading', { level: 3 })
      expect((await years.allTextContents()).slice(0, 3)).toEqual(['2020', '2019', '2017'])
      await page.getByRole('button', { name: '3 earlier encounters' }).click()
      await page.getByRole('heading', { name: '1972' }).waitFor()
      await cardOf(page, 'Body temperature').waitFor()
      expect(sent.map((each) => each.replace(/&_elements.*/, '')).sort()).toEqual([
        `GET /Observation?patient=${ALETA}&_group=code:code&_groupSort=-date&_groupCount=5&_count=100`,
        'POST /',
      ])
    })

    it('draws a plot once it is in view, with components as series', async () => {
      const page = await browser.open(`${open.base}/explorer/Patient/${ALETA}/chart`)
      await cardOf(page, 'Body temperature').waitFor()
      const card = cardOf(page, 'Low Density Lipoprotein Cholesterol')
      expect(await card.locator('canvas').count()).toBe(0)
      await card.scrollIntoViewIfNeeded()
      await card.locator('canvas').waitFor()
      const pressure = cardOf(page, 'Blood Pressure')
      await pressure.scrollIntoViewIfNeeded()
      await pressure.locator('canvas').waitFor()
      expect(await pressure.locator('.legend li').allTextContents()).toEqual(['Diastolic Blood Pressure', 'Systolic Blood Pressure'])
      await pressure.getByRole('img', { name: /^Plot of Blood Pressure: 10 values from 2011-04-11 to 2019-04-29, .* mm\[Hg\]$/ }).waitFor()
    })

    it('loads all values of a code on request, the newest first', async () => {
      const page = await browser.open(`${open.base}/explorer/Patient/odd/chart`)
      const sent = dataRequestsOf(page, open.base)
      const card = cardOf(page, 'Ranged')
      await card.getByText('reference 2 mg – 5 mg').waitFor()
      await card.getByText('All 7 values').click()
      await card.getByText('2 g', { exact: true }).waitFor()
      expect(await card.getByRole('row').allTextContents()).toEqual([
        'DateValue',
        ...[7, 6, 5, 4, 3, 2, 1].map((value) => `2023-0${value}-01${value} ${value === 2 ? 'g' : 'mg'}`),
      ])
      await card.getByText('The plot leaves out values in other units: 1').waitFor()
      await card.getByRole('img', { name: /^Plot of Ranged: 6 values from 2023-01-01 to 2023-07-01, 1 to 7 mg$/ }).waitFor()
      expect(sent.at(-1)).toMatch(/^GET \/Observation\?patient=odd&code=http%3A%2F%2Fexample.org%2Fcodes%7CRanged&_sort=-date&_count=200&/)
    })

    it.each([
      ['Without value', 'No value'],
      ['Absent', 'No value: Not performed'],
      ['Coded', 'Positive'],
      ['Text', '<b>مرحبا</b>'],
      ['Panel', '1 member'],
      ['Wave', 'Sampled data from 2 mV'],
      ['Decimals', `${LONG_NUMBER} mg`],
      ['Mistaken', '7 mg'],
      ['Parts', 'Second No value: Error'],
    ])('shows an Observation of any kind: %s → %s', async (title, text) => {
      const page = await openOnce(`${open.base}/explorer/Patient/odd/chart`)
      await cardOf(page, title).getByRole('listitem').filter({ hasText: text }).waitFor()
    })

    it('shows text without a code, an included medication, and the age at death', async () => {
      const page = await openOnce(`${open.base}/explorer/Patient/odd/chart`)
      await page.getByRole('heading', { name: 'Observations without a code: 1' }).waitFor()
      await page.getByRole('button', { name: 'Show them' }).click()
      await page.getByRole('listitem').filter({ hasText: 'Noted by hand' }).getByRole('link', { name: 'Free text' }).waitFor()
      await sectionOf(page, 'Medications').getByRole('link', { name: 'Included pill' }).waitFor()
      await page.getByText('deceased 2020-01-31 at the age of 69 years').waitFor()
      await cardOf(page, 'Mistaken').getByText('High').first().waitFor()
    })

    it('shows days in the time zone of the person, and the original on hover', async () => {
      const page = await openOnce(`${open.base}/explorer/Patient/${ALETA}/chart`)
      await sectionOf(page, 'Problems').getByRole('link', { name: 'Prediabetes' }).waitFor()
      const times = await sectionOf(page, 'Problems').locator('time').all()
      expect(times.length).toBeGreaterThan(0)
      for (const time of times) {
        const original = await time.getAttribute('title')
        expect(original).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(?:Z|[+-]\d\d:\d\d)$/)
        const day = await page.evaluate((text) => new Date(text).toLocaleDateString('sv'), original!)
        expect(await time.textContent()).toMatch(new RegExp(`^(?:since|until) ${day}$`))
      }
      await page.goto(`${open.base}/explorer/Patient/${ALETA}/member`)
      const table = page.getByRole('region', { name: 'Table: Explanations of benefit' })
      await table.waitFor()
      expect(await table.getByRole('row').nth(1).getByRole('cell').first().getAttribute('title')).toMatch(/^\d{4}-.*T.* – \d{4}-.*T/)
    })

    it('shows empty sections of a patient without data', async () => {
      const page = await browser.open(`${open.base}/explorer/Patient/nothing/chart`)
      await page.getByText('birth date unknown').waitFor()
      await sectionOf(page, 'Observations').getByText('Nothing found.').waitFor()
      expect(await page.getByText('Nothing found.').count()).toBe(6)
    })

    it('shows the error of an unknown patient only', async () => {
      const page = await browser.open(`${open.base}/explorer/Patient/unknown/chart`)
      await page.getByRole('alert').getByText('The server answered 404').waitFor()
      expect(await page.getByRole('heading', { name: 'Problems' }).count()).toBe(0)
    })

    it('says which sections a person may not see', async () => {
      const page = await browser.open(`${closed.base}/explorer/Patient/${ALETA}/chart`)
      await signIn(page, 'reader')
      await page.getByRole('heading', { name: 'Mrs. Aleta Wintheiser' }).waitFor()
      await sectionOf(page, 'Observations').getByText('You may not see this').waitFor()
      expect(await page.getByText('You may not see this').count()).toBe(6)
      browser.problems.length = 0
    })
  })

  describe('the member page', () => {
    it('shows claims by service date with amounts, with one request', async () => {
      const page = await browser.open('about:blank')
      const sent = dataRequestsOf(page, open.base)
      await page.goto(`${open.base}/explorer/Patient/${ALETA}/member`)
      const claims = sectionOf(page, 'Explanations of benefit')
      await claims.getByRole('cell', { name: '484.10400000000004 USD' }).waitFor()
      const dates = (
        await claims
          .getByRole('row')
          .getByRole('link', { name: /^\d{4}-/ })
          .allTextContents()
      ).map((each) => each.slice(0, 4))
      expect(dates).toEqual(dates.toSorted().reverse())
      expect(dates).toHaveLength(15)
      await sectionOf(page, 'Coverage').getByText('Nothing found.').waitFor()
      expect(sent).toEqual(['POST /'])
    })

    it.each([
      ['Coverage', 'Plan of health', 'Payor Inc'],
      ['Explanations of benefit', '2023-03-01', '120.50 USD'],
      ['Explanations of benefit', '2023-03-01', 'claim, 2023-02-01 – 2023-02-28'],
      ['Claim responses', '2024-01-01', 'AUTH-1'],
      ['Groups', 'Members of 2024', 'Members of 2024'],
      ['Consents', '2024-02-02', 'Authorization'],
    ])('shows %s with links', async (title, name, cell) => {
      const page = await openOnce(`${open.base}/explorer/Patient/odd/member`)
      const section = sectionOf(page, title)
      await section.getByRole('link', { name }).waitFor()
      expect(await section.getByRole('cell', { name: cell }).count()).toBeGreaterThan(0)
    })

    it('says which sections a person may not see', async () => {
      const page = await browser.open(`${closed.base}/explorer/Patient/${ALETA}/member`)
      await signIn(page, 'reader')
      await page.getByRole('heading', { name: 'Mrs. Aleta Wintheiser' }).waitFor()
      expect(await page.getByText('You may not see this').count()).toBe(5)
    })
  })

  describe.each([
    ['/Patient/odd/chart', 'Ranged'],
    ['/Patient/odd/member', 'Consents'],
  ])('%s', (path, title) => {
    it('has no finding of axe-core, and fits the screen, wide and narrow, light and dark', async () => {
      const page = await browser.open(`${open.base}/explorer${path}`)
      await page.getByRole('heading', { name: title }).waitFor()
      if (path.endsWith('chart')) {
        await cardOf(page, 'Ranged').getByText('All 7 values').click()
        await cardOf(page, 'Ranged').locator('canvas').waitFor()
      }
      await expectAccessible(page)
    })
  })

  /** Opens the address, unless the page of the previous test shows it. */
  async function openOnce(url: string): Promise<Page> {
    if (last === undefined || last.isClosed() || last.url() !== url) last = await browser.open(url)
    return last
  }
  let last: Page | undefined
})
