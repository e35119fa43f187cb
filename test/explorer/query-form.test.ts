/** Filters of a search as a form beside the text, completed from the CapabilityStatement, and saved searches. */
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import type { Locator, Page } from 'playwright-core'
import { closeAfterAll, dataRequestsOf, type Explored, expectAccessible, HAS_BROWSER, startExplored, TestBrowser } from './explored.ts'

const HOSTILE = '"><script>window.hit=1</script><img src=x onerror=window.hit=1>'

/** Statement with a hostile parameter of Patient. */
const STATEMENT = {
  resourceType: 'CapabilityStatement',
  rest: [{ resource: [{ type: 'Patient', searchParam: [{ name: HOSTILE, type: 'string', documentation: `Help ${HOSTILE}` }] }] }],
}

;(HAS_BROWSER ? describe : describe.skip)('the form of a search', () => {
  let server: Explored
  let browser: TestBrowser

  beforeAll(async () => {
    ;[server, browser] = await Promise.all([startExplored('open'), TestBrowser.launch()])
  })

  closeAfterAll(() => [browser, server])

  afterEach(() => expect(browser.problems.splice(0)).toEqual([]))

  const query = (page: Page): Locator => page.getByLabel('Query')

  /** Opens the page of a search with its form. `isTyped`: waits for the parameters of the server. */
  async function openForm(address: string, isTyped = true): Promise<Page> {
    const page = await browser.open(`${server.base}/explorer${address}`)
    await page.getByText('Filters', { exact: true }).click()
    await page.getByRole('button', { name: 'Add filter' }).waitFor()
    if (isTyped) await page.locator('#filter-names option[value="_id"]').waitFor({ state: 'attached' })
    return page
  }

  /** Returns the rows of the form: name, comparison and value. */
  const rowsOf = (page: Page): Promise<readonly (readonly string[])[]> =>
    page
      .locator('.filters li')
      .evaluateAll((rows) => rows.map((row) => [...row.querySelectorAll('input, select')].map((each) => (each as HTMLInputElement).value)))

  it('reads the statement once a minute, when the person opens it', async () => {
    const page = await browser.open('about:blank')
    await page.clock.install()
    const sent = dataRequestsOf(page, server.base)
    await page.goto(`${server.base}/explorer/Patient`)
    await page.getByRole('table').waitFor()
    expect(sent).toEqual(['GET /Patient'])
    await page.getByText('Filters', { exact: true }).click()
    await page.getByText('GET /fhir/metadata').waitFor()
    await query(page).fill('gender=male')
    await query(page).press('Enter')
    await page.waitForURL(/gender=male/)
    await page.getByRole('link', { name: 'FHIR explorer' }).click()
    await page.getByRole('link', { name: /^Patient 3$/ }).click()
    await page.getByText('Filters', { exact: true }).click()
    await page.getByText('GET /fhir/metadata').waitFor()
    const read = () => sent.filter((each) => each === 'GET /metadata')
    expect(read()).toHaveLength(1)
    await page.clock.fastForward(61_000)
    const again = page.waitForResponse(`${server.base}/metadata`)
    await page.getByText('Filters', { exact: true }).click()
    await page.getByRole('link', { name: 'FHIR explorer' }).click()
    await page.getByRole('link', { name: /^Patient 3$/ }).click()
    await page.getByText('Filters', { exact: true }).click()
    await again
    expect(read()).toHaveLength(2)
  })

  it('mirrors the text in its rows', async () => {
    const page = await openForm('/Patient?name=a&name=b&birthdate=ge1970&_has:Observation:patient:code=x&_sort=-birthdate')
    expect(await rowsOf(page)).toEqual([
      ['name', '', 'a'],
      ['name', '', 'b'],
      ['birthdate', 'ge', '1970'],
      ['_has:Observation:patient:code', 'x'],
      ['_sort', '-birthdate'],
    ])
    await query(page).fill('?gender:not=male&organization.name=x')
    expect(await rowsOf(page)).toEqual([
      ['gender', ':not', 'male'],
      ['organization.name', 'x'],
    ])
  })

  it('mirrors its rows in the text, and leaves the others unchanged', async () => {
    const page = await openForm(
      '/Patient?name=a&name=b&general-practitioner:Practitioner.name=x&_include=Patient:organization&birthdate=ge1970',
    )
    await page.getByLabel('Value 2').fill('c')
    await page.getByLabel('Comparison 2').selectOption(':exact')
    await page.getByLabel('Comparison 5').selectOption('lt')
    const others = 'general-practitioner:Practitioner.name=x&_include=Patient:organization'
    expect(await query(page).inputValue()).toBe(`name=a&name:exact=c&${others}&birthdate=lt1970`)
    await page.getByLabel('Comparison 5').selectOption(':missing')
    await page.getByLabel('Value 5').selectOption('false')
    await page.getByRole('button', { name: 'Remove filter 1' }).click()
    expect(await query(page).inputValue()).toBe(`name:exact=c&${others}&birthdate:missing=false`)
    await page.getByRole('button', { name: 'Add filter' }).click()
    await page.getByLabel('Parameter 5').fill('given')
    await page.getByLabel('Value 5').fill('a&b=+%')
    expect([...new URLSearchParams(await query(page).inputValue())].at(-1)).toEqual(['given', 'a&b=+%'])
    await page.getByLabel('Value 5').press('Enter')
    await page.waitForURL(/birthdate%3Amissing=false&given=/)
    expect([...new URL(page.url()).searchParams]).toEqual([
      ['name:exact', 'c'],
      ['general-practitioner:Practitioner.name', 'x'],
      ['_include', 'Patient:organization'],
      ['birthdate:missing', 'false'],
      ['given', 'a&b=+%'],
    ])
    await page.goBack()
    const before = `name=a&name=b&${others}&birthdate=ge1970`
    await page.waitForFunction((text) => document.querySelector<HTMLInputElement>('.query input')!.value === text, before)
  })

  it('keeps a name as it is typed, with a modifier and a chain', async () => {
    const page = await openForm('/Observation')
    await page.getByRole('button', { name: 'Add filter' }).click()
    await page.keyboard.type('subject:Patient')
    expect(await rowsOf(page)).toEqual([['subject:Patient', ':Patient', '']])
    await page.keyboard.type('.name')
    await page.keyboard.press('Tab')
    await page.keyboard.type('Wintheiser')
    expect(await rowsOf(page)).toEqual([['subject:Patient.name', 'Wintheiser']])
    await page.keyboard.press('Enter')
    await page.waitForURL(/subject%3APatient\.name=Wintheiser/)
    await page.getByText('No resource matches.').waitFor({ state: 'detached' })
    await page.getByRole('table').waitFor()
  })

  it('offers the comparisons that the type of a parameter has', async () => {
    const page = await openForm('/Observation?date=2020&status=final&subject=x&value-quantity=5&value-string=a&code-value-quantity=a$5')
    const choices = async (number: number) =>
      page
        .getByLabel(`Comparison ${number}`)
        .locator('option')
        .evaluateAll((each) => each.map((one) => (one as HTMLOptionElement).value))
    const prefixes = ['', 'eq', 'ne', 'gt', 'ge', 'lt', 'le', 'sa', 'eb', 'ap', ':missing']
    expect(await choices(1)).toEqual(prefixes)
    expect(await choices(2)).toEqual(['', ':not', ':text', ':of-type', ':missing'])
    expect((await choices(3)).toSorted()).toEqual(['', ':Device', ':Group', ':Location', ':Patient', ':identifier', ':missing'])
    expect(await choices(4)).toEqual(prefixes)
    expect(await choices(5)).toEqual(['', ':exact', ':contains', ':missing'])
    expect(await page.getByLabel('Comparison 6').count()).toBe(0)
  })

  it('gets an answer without an error for each comparison that it offers', async () => {
    const page = await openForm('/Observation?date=2020&status=a|b|c&subject=x&value-quantity=5&value-string=a')
    for (const number of [1, 2, 3, 4, 5]) {
      const select = page.getByLabel(`Comparison ${number}`)
      for (const value of await select.locator('option').evaluateAll((each) => each.map((one) => (one as HTMLOptionElement).value))) {
        await select.selectOption(value)
        const response = await server.request('GET', `/Observation?${new URLSearchParams(await query(page).inputValue())}`, undefined, {
          prefer: 'handling=strict',
        })
        expect([await query(page).inputValue(), response.status]).toEqual([expect.any(String), 200])
      }
      await page.getByRole('button', { name: 'Remove filter 1' }).waitFor()
      await query(page).fill('date=2020&status=a|b|c&subject=x&value-quantity=5&value-string=a')
    }
  })

  it('completes names and values, and shows the help of a parameter', async () => {
    const page = await openForm('/Patient')
    await query(page).fill('_sort=&_include=&_revinclude=&_group=')
    const optionsOf = (id: string) =>
      page.locator(`#${id} option`).evaluateAll((each) => each.map((one) => (one as HTMLOptionElement).value))
    const names = await optionsOf('filter-names')
    expect(names).toEqual(expect.arrayContaining(['birthdate', 'family', '_id', '_lastUpdated', '_tag', '_has', '_sort', '_revinclude']))
    expect(names).not.toContain('value-quantity')
    expect(new Set(names).size).toBe(names.length)
    expect(await optionsOf('filter-values-1')).toEqual(expect.arrayContaining(['birthdate', '-birthdate']))
    expect(await optionsOf('filter-values-2')).toContain('Patient:organization')
    expect(await optionsOf('filter-values-3')).toContain('Observation:patient')
    expect(await page.getByLabel('Parameter 1').getAttribute('list')).toBe('filter-names')
    await page.getByText('Groups matches by a search parameter').waitFor()
    const help = await page.getByLabel('Parameter 4').getAttribute('aria-describedby')
    expect(await page.locator(`#${help}`).textContent()).toContain('Groups matches')
  })

  it('works as text if the statement is refused or absent', async () => {
    const page = await browser.open('about:blank')
    let status = 403
    await page.route(`${server.base}/metadata`, (route) => (status === 0 ? route.abort() : route.fulfill({ status, body: '{}' })))
    await page.goto(`${server.base}/explorer/Patient?birthdate=ge1970`)
    await page.getByText('Filters', { exact: true }).click()
    await page.getByRole('status').getByText('You may not see this').waitFor()
    expect(await rowsOf(page)).toEqual([['birthdate', 'ge1970']])
    await page.getByLabel('Value 1').fill('lt1970')
    expect(await query(page).inputValue()).toBe('birthdate=lt1970')
    for (const [next, message] of [
      [503, 'The server answered 503'],
      [0, 'The server did not answer'],
    ] as const) {
      status = next
      await page.getByRole('button', { name: 'Read it again' }).click()
      await page.getByRole('status').getByText(message).waitFor()
    }
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Read it again' }).click()
    await page.getByLabel('Comparison 1').waitFor()
    expect(await rowsOf(page)).toEqual([['birthdate', 'lt', '1970']])
    browser.problems.length = 0
  })

  it('shows a hostile parameter as text', async () => {
    const page = await browser.open('about:blank')
    await page.route(`${server.base}/metadata`, (route) =>
      route.fulfill({ contentType: 'application/fhir+json', body: JSON.stringify(STATEMENT) }),
    )
    await page.goto(`${server.base}/explorer/Patient?${new URLSearchParams([[HOSTILE, 'a']])}`)
    await page.getByText('Filters', { exact: true }).click()
    await page.getByText(`Help ${HOSTILE}`).waitFor()
    expect(await rowsOf(page)).toEqual([[HOSTILE, '', 'a']])
    expect(
      await page.evaluate(() => [(window as unknown as { hit?: number }).hit, document.querySelectorAll('main img, main script').length]),
    ).toEqual([undefined, 0])
  })

  it('is used by the keyboard alone', async () => {
    const page = await browser.open(`${server.base}/explorer/Patient`)
    await page.getByRole('table').waitFor()
    const isFocused = (target: Locator) => target.evaluate((element) => element === document.activeElement)
    const tabTo = async (target: Locator): Promise<void> => {
      while (!(await isFocused(target))) await page.keyboard.press('Tab')
    }
    await tabTo(page.locator('summary', { hasText: 'Filters' }))
    await page.keyboard.press('Enter')
    await page.locator('#filter-names option[value="_id"]').waitFor({ state: 'attached' })
    await tabTo(page.getByRole('button', { name: 'Add filter' }))
    await page.keyboard.press('Enter')
    expect(await isFocused(page.getByLabel('Parameter 1'))).toBe(true)
    await page.keyboard.type('birthdate')
    await page.keyboard.press('Tab')
    for (let i = 0; i < 4; i++) await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Tab')
    await page.keyboard.type('1900')
    await page.keyboard.press('Enter')
    await page.waitForURL(/birthdate=ge1900/)
    await page.getByText('3 in all, 3 shown').waitFor()
    await tabTo(page.getByRole('button', { name: 'Remove filter 1' }))
    await page.keyboard.press('Enter')
    expect([await isFocused(page.getByRole('button', { name: 'Add filter' })), await query(page).inputValue()]).toEqual([true, ''])
    await tabTo(page.locator('summary', { hasText: 'Save search' }))
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    await page.keyboard.type('Mine')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Mine' }).waitFor()
  })

  describe('the saved searches', () => {
    const save = async (page: Page, name: string, button = 'Save'): Promise<void> => {
      await page.getByLabel('Name', { exact: true }).fill(name)
      await page.getByRole('button', { name: button, exact: true }).click()
    }

    it('are opened, replaced and removed, and stay in the browser', async () => {
      const page = await browser.open(`${server.base}/explorer/Patient?gender=female&_cursor=`)
      expect(await page.evaluate(() => localStorage.length)).toBe(0)
      await page.getByText('Save search', { exact: true }).click()
      await save(page, 'Mine & <b>yours</b>')
      await page.getByRole('status').getByText('is saved in this browser').waitFor()
      await page.goto(`${server.base}/explorer/Patient`)
      await page.getByRole('link', { name: 'Mine & <b>yours</b>' }).click()
      await page.waitForURL(/Patient\?gender=female$/)
      expect(await page.getByRole('link', { name: 'Mine & <b>yours</b>' }).getAttribute('aria-current')).toBe('page')
      await page.goto(`${server.base}/explorer/Patient?gender=male`)
      await page.getByText('Save search', { exact: true }).click()
      await save(page, 'Mine & <b>yours</b>', 'Replace')
      await save(page, 'Second')
      await page.getByRole('link', { name: 'Second' }).waitFor()
      const stored = await page.evaluate(() => JSON.parse(localStorage.getItem('fhir-explorer-searches')!))
      expect(stored).toEqual([
        { name: 'Mine & <b>yours</b>', path: '/Patient', query: 'gender=male' },
        { name: 'Second', path: '/Patient', query: 'gender=male' },
      ])
      await page.goto(`${server.base}/explorer/Organization`)
      await page.getByRole('table').waitFor()
      expect(await page.getByRole('link', { name: 'Second' }).count()).toBe(0)
      await page.goto(`${server.base}/explorer/Patient`)
      await page.getByRole('button', { name: 'Remove Second' }).click()
      await page.getByRole('link', { name: 'Second' }).waitFor({ state: 'detached' })
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Save search')
      await page.reload()
      await page.getByRole('link', { name: 'Mine & <b>yours</b>' }).waitFor()
      expect(await page.getByRole('link', { name: 'Second' }).count()).toBe(0)
      browser.problems.length = 0
    })

    it('are ignored if they are damaged, and so are stored columns', async () => {
      const page = await browser.open(`${server.base}/explorer/nothing/here`)
      const entries = '[null,7,{},{"name":"a"},{"name":"","path":"/Patient","query":""},["toString"]]'
      for (const damaged of ['{', '7', 'null', entries, '["toString","__proto__"]']) {
        await page.evaluate((text) => {
          localStorage.setItem('fhir-explorer-searches', text)
          localStorage.setItem('fhir-explorer-columns-Patient', text)
        }, damaged)
        await page.goto(`${server.base}/explorer/Patient`)
        await page.getByRole('row').nth(3).waitFor()
        await page.getByText('Save search', { exact: true }).click()
        await save(page, 'Good')
        await page.getByRole('link', { name: 'Good' }).waitFor()
      }
    })

    it('show that the browser stores nothing', async () => {
      const page = await browser.open('about:blank')
      await page.addInitScript(() => {
        const { getItem } = Storage.prototype
        Storage.prototype.setItem = () => {
          throw new DOMException('The quota is exceeded', 'QuotaExceededError')
        }
        Storage.prototype.getItem = function (name) {
          if (this === localStorage) throw new DOMException('Access is denied', 'SecurityError')
          return getItem.call(this, name)
        }
      })
      await page.goto(`${server.base}/explorer/Patient`)
      await page.getByText('Save search', { exact: true }).click()
      await save(page, 'Mine')
      await page.getByRole('alert').getByText('The browser did not store this').waitFor()
      expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Mine')
      await page.getByText('Columns', { exact: true }).click()
      await page.getByLabel('maritalStatus', { exact: true }).check()
      await page.getByRole('columnheader', { name: 'maritalStatus' }).waitFor()
      expect(await page.getByRole('alert').getByText('The browser did not store this').count()).toBe(2)
    })
  })

  it('has no finding of axe-core, and fits the screen', async () => {
    const address = '/Patient?birthdate=ge2100&general-practitioner:Practitioner=x&_group=gender&_has:Observation:patient:code=x'
    const page = await browser.open(`${server.base}/explorer${address}`)
    await page.getByText('No resource matches.').waitFor()
    await page.getByText('Filters', { exact: true }).click()
    await page.getByLabel('Comparison 2').waitFor()
    await page.getByText('Save search', { exact: true }).click()
    await page.getByLabel('Name', { exact: true }).fill('A name that is long enough to be broken on a telephone'.repeat(2).slice(0, 100))
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('button', { name: /^Remove A name/ }).waitFor()
    await expectAccessible(page)
  })
})
