/** Views of clients and of scopes in a real browser. */
import { beforeAll, describe, expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'
import type { Tree } from '../fixtures/resources.ts'
import {
  closeAfterAll,
  dataRequestsOf,
  type Explored,
  expectAccessible,
  HAS_BROWSER,
  signIn,
  startExplored,
  TestBrowser,
  type UserName,
} from './explored.ts'

const ALETA = '58c297c4-d684-4677-8024-01131d93835e'
const OTHER = '8d3e1155-278a-4824-a7e0-fddb24c7c179'

;(HAS_BROWSER ? describe : describe.skip)('the view of a client', () => {
  let explored: Explored
  let browser: TestBrowser

  beforeAll(async () => {
    ;[explored, browser] = await Promise.all([startExplored('token'), TestBrowser.launch()])
  })

  closeAfterAll(() => [browser, explored])

  const openAs = async (user: UserName, path: string): Promise<Page> => {
    const page = await browser.open(`${explored.base}/explorer${path}`)
    await signIn(page, user)
    return page
  }

  const seeAs = async (page: Page, text: string): Promise<void> => {
    await page.getByText('See as …').click()
    await page.getByLabel(/SMART scopes/).fill(text)
    await page.getByLabel(/SMART scopes/).press('Enter')
  }

  const banner = (page: Page) => page.getByRole('region', { name: 'View' })

  it('is four clicks away from home', async () => {
    const page = await openAs('admin', '')
    await page.getByLabel('Name, identifier, id or path').fill('wintheiser')
    await page.getByLabel('Name, identifier, id or path').press('Enter')
    await page.getByRole('listitem').filter({ hasText: 'Aleta Wintheiser' }).first().getByRole('link', { name: 'Member' }).click()
    await page.getByText('See as …').click()
    await page.getByLabel('Client id or SMART scopes').fill('partner')
    await page.getByLabel('Client id or SMART scopes').press('Enter')
    await banner(page).getByText('Seen as partner').waitFor()
    await page.getByRole('heading', { name: 'Mrs. Aleta Wintheiser' }).waitFor()
    await page.getByRole('region', { name: 'Coverage' }).getByText('Not visible to partner').waitFor()
    await page.getByRole('link', { name: 'Chart' }).click()
    await page.getByRole('region', { name: 'Problems' }).getByRole('link', { name: 'Prediabetes' }).waitFor()
    await page.getByRole('region', { name: 'Encounters' }).getByText('Not visible to partner').waitFor()
    await page.getByRole('heading', { name: 'Hemoglobin A1c/Hemoglobin.total in Blood' }).waitFor()
    expect(await page.locator('.card').count()).toBe(1)
  })

  it('says how many resources each section hides, with one more request', async () => {
    const page = await openAs('admin', `/Patient/${ALETA}`)
    const totalOf = async (type: string): Promise<number> =>
      ((await (await explored.request('GET', `/${type}?patient=${ALETA}&_summary=count`)).json()) as { total: number }).total
    await seeAs(page, 'partner')
    await banner(page).getByText('Seen as partner').waitFor()
    await page.getByText('Version 1').waitFor()
    const sent = dataRequestsOf(page, explored.base)
    const shown = (title: string, text: string) => page.getByRole('heading', { name: `${title} ${text} shown to this view`, exact: true })
    await page.getByRole('link', { name: 'Chart' }).click()
    const conditions = await totalOf('Condition')
    await shown('Problems', `${conditions} of ${conditions}`).waitFor()
    await shown('Encounters', `0 of ${await totalOf('Encounter')}`).waitFor()
    const [, count, all] = /(\d+) of (\d+)/.exec((await page.getByRole('heading', { name: /^Observations \d/ }).textContent())!)!
    expect([Number(all), Number(count) > 0, Number(count) < Number(all)]).toEqual([await totalOf('Observation'), true, true])
    expect(sent.length).toBe(3)
    await page.getByRole('link', { name: 'Member' }).click()
    await shown('Explanations of benefit', `0 of ${await totalOf('ExplanationOfBenefit')}`).waitFor()
    await page.getByRole('heading', { name: 'Groups', exact: true }).waitFor()
    expect(sent.length).toBe(5)
    await banner(page).getByRole('button', { name: 'Stop' }).click()
    await page.getByRole('heading', { name: `Explanations of benefit ${await totalOf('ExplanationOfBenefit')}`, exact: true }).waitFor()
    expect(sent.length).toBe(6)
  })

  it('says that a section is empty for the person too', async () => {
    const page = await openAs('admin', `/Patient/${ALETA}`)
    await seeAs(page, 'user/Patient.rs user/Group.rs')
    await banner(page).waitFor()
    await page.getByRole('link', { name: 'Member' }).click()
    await page.getByRole('heading', { name: 'Groups 0', exact: true }).waitFor()
    await page.getByRole('region', { name: 'Groups' }).getByText('Nothing found. Your own access finds nothing either.').waitFor()
  })

  it('counts nothing that the person may not see either', async () => {
    const page = await openAs('reader', `/Patient/${ALETA}/chart`)
    await page.getByRole('heading', { name: 'Mrs. Aleta Wintheiser' }).waitFor()
    await seeAs(page, 'user/Patient.r')
    await banner(page).waitFor()
    await page.getByRole('region', { name: 'Problems' }).getByText('Not visible to user/Patient.r').waitFor()
    await page
      .getByText(/^POST .*/)
      .nth(1)
      .waitFor()
    expect(await page.getByText('shown to this view').count()).toBe(0)
  })

  it('switches off every control that changes something', async () => {
    const page = await openAs('admin', `/Patient/${ALETA}`)
    await seeAs(page, 'user/*.cruds')
    await banner(page).waitFor()
    const note = page.getByText('Nothing can be changed in a view.')
    await page.getByRole('link', { name: 'Exports' }).click()
    await note.waitFor()
    expect(await page.getByRole('button', { name: 'Start' }).count()).toBe(0)
    await page.getByRole('link', { name: 'Parameters' }).click()
    await note.waitFor()
    expect(await page.getByRole('button', { name: 'Define' }).count()).toBe(0)
    await page.getByRole('link', { name: 'Requests' }).click()
    const send = page.getByRole('button', { name: 'Send', exact: true })
    for (const [method, path, isOn] of [
      ['GET', '/Patient', true],
      ['POST', '/Patient/_search', true],
      ['POST', '/Patient', false],
      ['PUT', `/Patient/${ALETA}`, false],
      ['DELETE', `/Patient/${ALETA}`, false],
    ] as const) {
      await page.getByLabel('Method').selectOption(method)
      await page.getByLabel('Path below the base').fill(path)
      expect([method, path, await send.isEnabled(), (await note.count()) === 0]).toEqual([method, path, isOn, isOn])
    }
  })

  it('shows less on every page, until it is stopped', async () => {
    const page = await openAs('admin', `/Patient/${ALETA}`)
    const own = await (await explored.request('GET', `/Condition?patient=${ALETA}&_summary=count`)).json()
    await seeAs(page, 'partner')
    await banner(page).getByText('Seen as partner').waitFor()
    await page.getByText('Version 1').waitFor()
    expect(await page.getByRole('button', { name: 'Edit' }).isDisabled()).toBe(true)
    await page.getByRole('link', { name: 'All Patient' }).click()
    await page.getByText('3 in all, 3 shown').waitFor()
    await page.getByLabel('Name, identifier, id or path').fill('Condition')
    await page.getByLabel('Name, identifier, id or path').press('Enter')
    await page.getByText(`${(own as { total: number }).total} in all`).waitFor()
    await page.getByLabel('Name, identifier, id or path').fill('Encounter')
    await page.getByLabel('Name, identifier, id or path').press('Enter')
    await page.getByRole('alert').getByText('Not visible to partner').waitFor()
    await banner(page).getByRole('button', { name: 'Stop' }).click()
    await page.getByRole('table').waitFor()
    expect(await banner(page).count()).toBe(0)
  })

  it('follows the patient of the page, and a reload', async () => {
    const page = await openAs('admin', `/Patient/${ALETA}`)
    await seeAs(page, 'patient/*.rs')
    await banner(page).waitFor()
    await page.goto(`${explored.base}/explorer/Patient/${OTHER}`)
    await page.getByText('Version 1').waitFor()
    await banner(page).getByText('Seen as patient/*.rs').waitFor()
    await page.getByRole('link', { name: 'All Patient' }).click()
    await page.getByText('1 in all, 1 shown').waitFor()
    await page.goBack()
    await page.getByText('Version 1').waitFor()
    await page.getByLabel('Name, identifier, id or path').fill(`Patient?_id=${ALETA}`)
    await page.getByLabel('Name, identifier, id or path').press('Enter')
    await page.getByText('0 in all').waitFor()
  })

  it('shows the claims of the last five years, without amounts, for another payer', async () => {
    const page = await openAs('admin', `/Patient/${ALETA}`)
    const search = `/ExplanationOfBenefit?patient=${ALETA}&created=lt2020&_count=1`
    const claims = (await (await explored.request('GET', search)).json()) as { entry: { resource: Tree }[] }
    const old = claims.entry[0]!.resource
    const id = 'claim-of-today'
    const { payment } = old
    const today = new Date().toISOString().slice(0, 10)
    await explored.request('PUT', `/ExplanationOfBenefit/${id}`, { ...old, id, created: today, billablePeriod: { start: today } })
    await page.getByText('Version 1').waitFor()
    await seeAs(page, 'payer')
    await banner(page).getByText('Seen as payer').waitFor()
    await page.getByText('Version 1').waitFor()
    const open = async (path: string): Promise<string> => {
      const answer = page.waitForResponse((response) => response.url().endsWith(path))
      await page.getByLabel('Name, identifier, id or path').fill(path.slice(1))
      await page.getByLabel('Name, identifier, id or path').press('Enter')
      return (await answer).text()
    }
    const shown = await open(`/ExplanationOfBenefit/${id}`)
    await page.getByText('Version 1').waitFor()
    expect(JSON.parse(shown)).toMatchObject({ id, status: 'active', meta: { tag: [{ code: 'SUBSETTED' }] } })
    expect([payment.amount.value >= 0, JSON.parse(shown).payment, shown.includes('currency')]).toEqual([true, undefined, false])
    expect(JSON.parse(await open(`/Patient/${OTHER}`))).toMatchObject({ resourceType: 'Patient', id: OTHER })
    expect(JSON.parse(await open(`/ExplanationOfBenefit/${old.id}`))).toMatchObject({ issue: [{ code: 'not-found' }] })
  })

  it('is exchanged again when it expires, and the old token is not used', async () => {
    const page = await openAs('doctor', `/Patient/${ALETA}`)
    let exchanges = 0
    page.on('request', (request) => {
      if (request.postData()?.includes('token-exchange')) exchanges++
    })
    await seeAs(page, 'user/Patient.rs')
    await banner(page).waitFor()
    await page.getByText('Version 1').waitFor()
    expect(exchanges).toBe(1)
    await page.getByRole('link', { name: 'All Patient' }).click()
    await page.getByText('3 in all').waitFor()
    expect(exchanges).toBe(1)
    await page.evaluate(() => {
      const now = Date.now
      Date.now = () => now() + 290_000
    })
    await page.goBack()
    await page.getByText('Version 1').waitFor()
    expect(exchanges).toBe(2)
  })

  it.each([
    ['doctor', 'partner', 'as_client requires the scope system/admin'],
    ['admin', 'unknown', 'There is no client unknown'],
    ['reader', 'user/Observation.rs', 'None of these scopes can be granted: user/Observation.rs'],
  ] as const)('reports to %s for %s: %s', async (user, text, message) => {
    const page = await openAs(user, `/Patient/${ALETA}`)
    await seeAs(page, text)
    await page.getByRole('alert').getByText(message).waitFor()
    expect(await banner(page).count()).toBe(0)
  })

  it('says that the server is busy in place of a token, and shows nothing in its place', async () => {
    const page = await openAs('doctor', `/Patient/${ALETA}`)
    await seeAs(page, 'user/Patient.rs')
    await banner(page).waitFor()
    await page.getByText('Version 1').waitFor()
    await page.route('**/auth/token', (route) => route.fulfill({ status: 503, headers: { 'retry-after': '1' }, body: 'busy' }))
    await page.getByLabel('Name, identifier, id or path').fill(`Patient/${OTHER}`)
    await page.getByLabel('Name, identifier, id or path').press('Enter')
    await page.getByRole('alert').getByText('The view was not started: the server answered 503').waitFor()
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('Version 1').waitFor()
    await banner(page).waitFor()
  })

  it('gives a token that writes nothing and starts no export', async () => {
    const page = await openAs('admin', `/Patient/${ALETA}`)
    const received = page.waitForResponse((response) => response.request().postData()?.includes('token-exchange') === true)
    await seeAs(page, 'system/*.cruds system/admin')
    const { access_token, scope } = (await (await received).json()) as { access_token: string; scope: string }
    expect(scope).toBe('user/*.rs')
    const status = async (method: string, path: string) => {
      const headers = { authorization: `Bearer ${access_token}`, prefer: 'respond-async', 'content-type': 'application/fhir+json' }
      const body = method === 'PUT' ? { body: JSON.stringify({ resourceType: 'Organization', id: 'a' }) } : {}
      return (await fetch(`${explored.base}${path}`, { method, headers, ...body })).status
    }
    const asked = [
      ['GET', `/Patient/${ALETA}`],
      ['PUT', '/Organization/a'],
      ['DELETE', `/Patient/${ALETA}`],
      ['GET', '/$export'],
      ['GET', '/$reindex-status'],
    ] as const
    expect(await Promise.all(asked.map(([method, path]) => status(method, path)))).toEqual([200, 403, 403, 403, 403])
  })

  it('is not offered on an open server, nor on pages of several resources', async () => {
    const page = await openAs('admin', '/Patient')
    await page.getByText('3 in all').waitFor()
    expect(await page.getByText('See as …').count()).toBe(0)
    const open = await startExplored('open')
    try {
      const other = await browser.open(`${open.base}/explorer/Patient/${ALETA}`)
      await other.getByText('Version 1').waitFor()
      expect(await other.getByText('See as …').count()).toBe(0)
    } finally {
      await open.close()
    }
  })

  it('has no finding of axe-core, and fits the screen', async () => {
    const page = await openAs('admin', `/Patient/${ALETA}`)
    await page.getByText('See as …').click()
    await page.getByLabel('Client id or SMART scopes').fill('unknown')
    await page.getByRole('button', { name: 'See as', exact: true }).click()
    await page.getByRole('alert').waitFor()
    await expectAccessible(page)
    await page.getByLabel('Client id or SMART scopes').fill('partner')
    await page.getByRole('button', { name: 'See as', exact: true }).click()
    await banner(page).getByText('Scopes of this view').click()
    await page.getByText('Version 1').waitFor()
    await expectAccessible(page)
  })
})
