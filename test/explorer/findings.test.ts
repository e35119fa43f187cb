/** Issues of `$validate` and of refused writes, beside the elements that they are about. */
import { beforeAll, describe, expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'
import { axeFindingsOf, closeAfterAll, type Explored, expectAccessible, HAS_BROWSER, startExplored, TestBrowser } from './explored.ts'

const ISSUES = [
  ['error', 'The family is odd', 'Patient.name[1].family'],
  ['warning', 'The name is rare', 'Patient.name[0]'],
  ['information', 'The birth date has an extension', 'Patient.birthDate.extension[0]'],
  ['error', 'The extension is odd', 'Patient.contact[0].extension[0].value'],
  ['warning', 'The profile is old', 'Patient.meta.profile[0]'],
  ['error', 'There is no such place', 'Patient.photo[3]'],
  ['information', 'All is well', undefined],
] as const

const PATIENT = {
  resourceType: 'Patient',
  id: 'odd',
  meta: { profile: ['http://example.org/profile'] },
  name: [{ family: 'First' }, { family: 'Second' }],
  birthDate: '2020-01-01',
  _birthDate: { extension: [{ url: 'http://example.org/e', valueString: 'e' }] },
  contact: [{ extension: [{ url: 'http://example.org/e', valueString: 'e' }], name: { text: 'N' }, gender: 'male' }],
}

;(HAS_BROWSER ? describe : describe.skip)('the page of a resource', () => {
  let server: Explored
  let browser: TestBrowser

  beforeAll(async () => {
    ;[server, browser] = await Promise.all([startExplored('open'), TestBrowser.launch()])
    const outcome = await server.request('PUT', '/Patient/odd', PATIENT)
    if (!outcome.ok) throw new Error(await outcome.text())
  })

  closeAfterAll(() => [browser, server])

  /** Opens the patient, for which `$validate` finds these issues. */
  async function openValidated(): Promise<Page> {
    const page = await browser.open(`${server.base}/explorer/Patient/odd`)
    const issue = ISSUES.map(([severity, text, expression]) => ({
      ...{ severity, code: 'value', details: { text } },
      ...(expression === undefined ? {} : { expression: [expression] }),
    }))
    await page.route('**/$validate', (route) => route.fulfill({ json: { resourceType: 'OperationOutcome', issue } }))
    await page.getByRole('button', { name: 'Validate' }).click()
    await page.getByText('7 issues, 4 of them beside the elements below.').waitFor()
    return page
  }

  const issuesOf = (page: Page) => page.getByRole('region', { name: 'Validation' }).getByRole('listitem').allTextContents()

  it('shows each issue of a validation beside its element, and the others above', async () => {
    const page = await openValidated()
    expect(await issuesOf(page)).toEqual([
      'warning The profile is old Patient.meta.profile[0]',
      'error There is no such place Patient.photo[3]',
      'information All is well',
    ])
    const element = (name: string) => page.locator('.elements > div').filter({ has: page.getByText(name, { exact: true }) })
    await page
      .getByRole('listitem')
      .filter({ hasText: /^First.*warning The name is rare/ })
      .waitFor()
    await page
      .getByRole('listitem')
      .filter({ hasText: /^Second.*error The family is odd/ })
      .waitFor()
    await element('_birthDate').getByText('The birth date has an extension').waitFor()
    await element('contact').getByText('The extension is odd').waitFor()
  })

  it('shows them in the JSON, above their lines', async () => {
    const page = await openValidated()
    await page.getByRole('button', { name: 'JSON', exact: true }).click()
    await page.getByText('7 issues, 5 of them beside the elements below.').waitFor()
    const lines = (await page.locator('pre.json').textContent())!.split('\n')
    const lineAfter = (text: string) => lines[lines.findIndex((line) => line.trim() === text) + 1]?.trim()
    expect(lineAfter('error: The family is odd')).toBe('"family": "Second"')
    expect(lineAfter('warning: The name is rare')).toBe('{')
    expect(lineAfter('warning: The profile is old')).toBe('"http://example.org/profile"')
    expect(lineAfter('error: The extension is odd')).toBe('"valueString": "e"')
    await page.getByRole('button', { name: 'Edit' }).click()
    expect((await issuesOf(page)).length).toBe(ISSUES.length)
    await page.getByText('7 issues.', { exact: true }).waitFor()
  })

  it('has no finding of axe-core with issues, and fits the screen', async () => {
    const page = await openValidated()
    for (const view of ['Elements', 'JSON']) {
      await page.getByRole('button', { name: view, exact: true }).click()
      await expectAccessible(page)
    }
  })

  it('shows real issues of the server', async () => {
    await server.request('PUT', '/Patient/real', { resourceType: 'Patient', id: 'real', meta: { profile: ['http://example.org/unknown'] } })
    const page = await browser.open(`${server.base}/explorer/Patient/real`)
    await page.getByRole('button', { name: 'Validate' }).click()
    await page.getByRole('button', { name: 'JSON', exact: true }).click()
    await page.locator('pre.json .mark').waitFor()
    await page.getByText('GET /fhir/Patient/real/$validate').waitFor()
  })

  it('leads from an issue of a refused write to its line in the text, also with the keyboard', async () => {
    const page = await browser.open(`${server.base}/explorer/Patient/odd`)
    await page.getByRole('button', { name: 'Edit' }).click()
    const editor = page.getByLabel('JSON of the resource')
    const selected = () => editor.evaluate((area: HTMLTextAreaElement) => area.value.slice(area.selectionStart, area.selectionEnd))
    const text = await editor.inputValue()
    const many = Array.from({ length: 60 }, (_, i) => `"A${i}"`).join(',\n')
    await editor.fill(text.replace('"family": "First"', `"given": [${many}], "family": "First"`).replace('"male"', '"odd"'))
    await editor.evaluate((area) => area.scrollTo(0, 0))
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    const issue = page.getByRole('alert').getByRole('listitem').filter({ hasText: 'Patient.contact[0].gender' })
    await issue.getByRole('button', { name: 'Select the line' }).press('Enter')
    expect(await selected()).toBe('      "gender": "odd"')
    expect(await editor.evaluate((area) => area === document.activeElement && area.scrollTop > 0)).toBe(true)
    await page.getByText(/^PUT \/fhir\/Patient\/odd$/).waitFor()
    expect(await axeFindingsOf(page)).toEqual([])
    await editor.fill('{\n  "resourceType": "Patient",\n  "id": "odd",\n}')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('alert').getByText('not valid JSON').waitFor()
    await page.getByRole('button', { name: 'Select the line' }).click()
    expect(await selected()).toBe('}')
  })
})
