/** Hostile texts in the data: the pages show them as texts. Nothing runs, nothing is loaded from elsewhere, and nothing becomes a link. */
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'
import { caseCountOf } from '../fixtures/long-runs.ts'
import type { Tree } from '../fixtures/resources.ts'
import { closeAfterAll, type Explored, HAS_BROWSER, startExplored, TestBrowser } from './explored.ts'
import { EVIL, hostileResourceOf, hostileTexts, storedResourcesOf, withHostileTexts } from './hostile-texts.ts'

const TEXTS = hostileTexts(caseCountOf(20, 500))
/** Texts that one resource holds. */
const GROUP = 20
/** Types of the resources in the samples. */
const SAMPLE_TYPES =
  'Patient Organization Practitioner Encounter Condition Claim ExplanationOfBenefit CareTeam CarePlan AllergyIntolerance Observation Procedure Immunization DiagnosticReport MedicationRequest ImagingStudy'.split(
    ' ',
  )

const OWNED_TYPES = ['Consent', 'Coverage', 'DocumentReference', 'Group'] as const

;(HAS_BROWSER ? describe : describe.skip)('hostile texts', () => {
  let open: Explored
  let browser: TestBrowser
  let page: Page
  const leaks: string[] = []
  const dialogs: string[] = []
  /** Responses in place of those of the server, by path below the base. */
  const stubs = new Map<string, { readonly status: number; readonly body: Tree }>()

  beforeAll(async () => {
    ;[open, browser] = await Promise.all([startExplored('open'), TestBrowser.launch()])
    page = await browser.open('about:blank')
    page.on('dialog', (dialog) => {
      dialogs.push(dialog.message())
      void dialog.dismiss()
    })
    page.on('popup', (popup) => leaks.push(`popup ${popup.url()}`))
    await page.addInitScript(() => {
      const watched = window as unknown as { __violations: string[] }
      watched.__violations = []
      // Violations of a narrative are events of its own document.
      document.addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI, sample }) =>
        watched.__violations.push(`${effectiveDirective} ${blockedURI} ${sample}`),
      )
    })
    // Interception comes after the policy: it gets only requests that would leave the browser.
    await page.route(
      (url) => /^https?:$/.test(url.protocol) && url.origin !== new URL(open.base).origin,
      async (route) => {
        leaks.push(route.request().url())
        await route.abort()
      },
    )
    await page.route(
      (url) => stubs.has(pathBelow(url)),
      (route) => {
        const { status, body } = stubs.get(pathBelow(new URL(route.request().url())))!
        return route.fulfill({ status, contentType: 'application/fhir+json', body: JSON.stringify(body) })
      },
    )
    await page.goto(`${open.base}/explorer`)
    await page.getByRole('heading', { name: 'Resources' }).waitFor()
  })

  closeAfterAll(() => [browser, open])

  const pathBelow = ({ href }: URL): string => href.slice(open.base.length)

  /** Opens a page of the explorer without a reload, and waits until its data stand. */
  async function show(path: string): Promise<void> {
    await page.evaluate(
      (address) => {
        history.pushState(null, '', address)
        dispatchEvent(new PopStateEvent('popstate'))
      },
      `${new URL(open.base).pathname}/explorer${path}`,
    )
    await page.locator('main .loading').first().waitFor({ state: 'detached' })
    await page.locator('main h1').waitFor()
  }

  /** Expects that nothing has run or left, and that every link leads to the explorer. */
  async function expectUnharmed(): Promise<void> {
    // Frames inside a narrative never finish: the policy forbids them.
    for (const frame of page.mainFrame().childFrames()) await frame.waitForLoadState('domcontentloaded')
    const found = await page.evaluate(async () => {
      // Two frames: the handlers of an inserted element run before the second.
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
      const { __hit, __violations } = window as unknown as Watched
      const links = [...document.querySelectorAll('a')].map((link) => link.href)
      const markup = document.querySelectorAll('script:not([src]),img,svg,object,video,base,form[action],iframe:not(.narrative),style,math')
      const handlers = [...document.querySelectorAll('*')].flatMap((each) =>
        each.getAttributeNames().filter((name) => /^on|^style$/.test(name)),
      )
      return { hit: __hit, violations: __violations, links, markup: [...markup].map(({ outerHTML }) => outerHTML), handlers }
    })
    const { links, ...others } = found
    expect(others).toEqual({ violations: [], markup: [], handlers: [] })
    const own = `${open.base}/explorer`
    expect(links.filter((link) => !link.startsWith(own) || !/^(?:[/?#]|$)/.test(link.slice(own.length)))).toEqual([])
    expect([leaks, dialogs, new URL(page.url()).origin]).toEqual([[], [], new URL(open.base).origin])
  }

  const groups = Array.from({ length: Math.ceil(TEXTS.length / GROUP) }, (_, i) => TEXTS.slice(i * GROUP, (i + 1) * GROUP))

  it('in stored resources are shown by the pages of types and resources', async () => {
    for (const texts of groups) {
      const entry = storedResourcesOf(texts).map((resource) => ({
        resource,
        request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` },
      }))
      const response = await open.request('POST', '/', { resourceType: 'Bundle', type: 'transaction', entry })
      expect([response.status, await response.text()]).toEqual([200, expect.any(String)])
      for (const type of ['Patient', 'Observation', 'Organization', 'DocumentReference', 'Coverage']) {
        await show(`/${type}?_sort=-_lastUpdated&_count=${GROUP}&_=${texts.length}`)
        await page
          .getByRole('link', { name: /^hostile/ })
          .first()
          .waitFor()
        await expectUnharmed()
      }
      for (const address of [
        'Patient/hostile',
        'DocumentReference/hostile',
        'Coverage/hostile',
        'Observation/hostile-0',
        'Organization/hostile-1',
      ]) {
        await show(`/${address}`)
        await page
          .getByText(texts[address.endsWith('1') ? 1 : 0]!, { exact: true })
          .first()
          .waitFor({ state: 'attached' })
        await expectUnharmed()
      }
    }
  })

  it('in elements where the server allows none are shown by the page of a resource, as elements, JSON and in the editor', async () => {
    for (const [i, text] of TEXTS.entries()) {
      stubs.set(`/Basic/x${i}`, { status: 200, body: hostileResourceOf(text, `x${i}`) })
      await show(`/Basic/x${i}`)
      await page.locator('iframe.narrative[src^="blob:"]').waitFor({ state: 'attached' })
      await expectUnharmed()
      await page.getByRole('button', { name: 'JSON', exact: true }).click()
      await page.locator('pre.json').waitFor()
      await expectUnharmed()
      expect(await page.locator('pre.json').textContent()).toContain(JSON.stringify(text))
      await page.getByRole('button', { name: 'Edit', exact: true }).click()
      expect(await page.getByLabel('JSON of the resource').inputValue()).toContain(JSON.stringify(text))
      await expectUnharmed()
    }
  })

  it('in the entries and links of a Bundle are shown by the page of a type', async () => {
    for (const [g, texts] of groups.entries()) {
      const entry = texts.map((text, i) => ({ resource: hostileResourceOf(text, text.slice(0, 60) || `${i}`), search: { mode: 'match' } }))
      const outcome = { resourceType: 'OperationOutcome', issue: texts.map((text) => issueOf(text)) }
      const link = [
        { relation: 'next', url: 'javascript:alert(1)' },
        { relation: 'previous', url: `${EVIL}/fhir/Basic?page=2` },
      ]
      const body = {
        resourceType: 'Bundle',
        type: 'searchset',
        total: 1,
        link,
        entry: [...entry, { resource: outcome, search: { mode: 'outcome' } }],
      }
      stubs.set(`/Basic?group=${g}`, { status: 200, body })
      await show(`/Basic?group=${g}`)
      await page.getByRole('table').waitFor()
      await expectUnharmed()
    }
  })

  it('in the address are shown by the page that finds, and by errors', async () => {
    for (const text of TEXTS) {
      const value = encodeURIComponent(text)
      await show(`/find?text=${value}`)
      await expectUnharmed()
      await show(`/Observation?date=${value}&${value}=1`)
      await page.getByRole('alert').waitFor()
      await expectUnharmed()
      await show(`/${value}`)
      await expectUnharmed()
    }
    browser.problems.length = 0
  })

  it.each(['structure', 'type'] as const)('in every response are shown by every page that gets responses: keeps the %s', async (keeps) => {
    const patient = await addOwnedResources()
    const paths = [
      ...['/', '/find?text=a', '/exports', '/status', '/parameters', '/_history', `${patient}/_history`, `${patient}/*?_count=20`],
      ...[patient, `${patient}/chart`, `${patient}/member`],
      ...(keeps === 'structure' ? [...SAMPLE_TYPES, ...OWNED_TYPES].map((type) => `/${type}?_count=5`) : []),
    ]
    let shown = 0
    const isData = (url: URL): boolean => url.href.startsWith(`${open.base}/`) && !/^\/(?:explorer|auth)(?:\/|$)/.test(pathBelow(url))
    await page.route(isData, async (route) => {
      const response = await route.fetch()
      const body = withHostileTexts(await response.json(), () => TEXTS[shown++ % TEXTS.length]!, keeps)
      await route.fulfill({ response, body: JSON.stringify(body) })
    })
    try {
      // Each round puts other texts into the same places.
      for (const _ of groups) {
        for (const path of paths) {
          await show(path)
          await expectUnharmed()
          const content = await page.locator('main').textContent()
          if (keeps === 'structure' && /^\/Patient\/[^/]+(?:\/chart|\/member)?$/.test(path))
            expect([path, TEXTS.some((text) => content!.includes(text))]).toEqual([path, true])
        }
        await show('/requests')
        await page.getByRole('button', { name: 'Send', exact: true }).click()
        await page.getByRole('region', { name: 'Answer' }).waitFor()
        await expectUnharmed()
      }
    } finally {
      await page.unroute(isData)
      browser.problems.length = 0
    }
  })

  /** Adds resources of types that the samples lack, for a patient of the samples. Returns the path of the patient. */
  async function addOwnedResources(): Promise<string> {
    const { entry } = (await (await open.request('GET', '/Patient?_count=1&_elements=id')).json()) as Tree
    const patient = { reference: `Patient/${entry[0].resource.id}` }
    const contents: Readonly<Record<(typeof OWNED_TYPES)[number], Tree>> = {
      Consent: { status: 'active', scope: { text: 'x' }, category: [{ text: 'x' }], patient, policyRule: { text: 'x' } },
      Coverage: { status: 'active', beneficiary: patient, payor: [{ display: 'x' }], class: [{ type: { text: 'x' }, value: 'x' }] },
      DocumentReference: { status: 'current', subject: patient, description: 'x', content: [{ attachment: { title: 'x' } }] },
      Group: { type: 'person', actual: true, name: 'x', member: [{ entity: patient }] },
    }
    for (const [resourceType, content] of Object.entries(contents))
      expect((await open.request('PUT', `/${resourceType}/owned`, { resourceType, id: 'owned', ...content })).ok).toBe(true)
    return `/${patient.reference}`
  }

  it('in an OperationOutcome are shown by an error', async () => {
    stubs.set('/Basic/broken', { status: 422, body: { resourceType: 'OperationOutcome', issue: TEXTS.map(issueOf) } })
    await show('/Basic/broken')
    await page.getByRole('alert').waitFor()
    await expectUnharmed()
    expect(await page.getByRole('alert').textContent()).toContain(TEXTS[0])
  })

  it('in a narrative lead nowhere, even if the person clicks them', async () => {
    const links = ['_self', '_top', '_blank'].map((target) => `<p><a href="${EVIL}/" target="${target}">link ${target}</a></p>`)
    const div = `<div xmlns="http://www.w3.org/1999/xhtml">${links.join('')}<form action="${EVIL}/"><button>Send</button></form></div>`
    stubs.set('/Basic/links', { status: 200, body: { resourceType: 'Basic', id: 'links', text: { status: 'generated', div } } })
    for (const name of ['link _top', 'link _blank', 'Send', 'link _self']) {
      await show('/Basic/links')
      const frame = page.frameLocator('iframe.narrative')
      await frame.getByText(name).click({ noWaitAfter: true })
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)))
      expect([leaks, page.url()]).toEqual([[], `${open.base}/explorer/Basic/links`])
    }
  })

  it('in a file name and in a table are saved as text', async () => {
    const title = '../../<b>=1+1"\u202egnp.exe'
    const cells = ['=1+1', '+1', '-1+1', '@SUM(1)', '\t=1', '"; =1', 'plain']
    const attachment = [{ title, contentType: 'text/html', data: 'PHNjcmlwdD4=' }]
    const body = { resourceType: 'Basic', id: 'saved', attachment }
    stubs.set('/Basic/saved', { status: 200, body })
    const entry = cells.map((name, i) => ({ resource: { resourceType: 'Basic', id: `${i}`, name } }))
    stubs.set('/Basic?saved', { status: 200, body: { resourceType: 'Bundle', type: 'searchset', total: 7, entry } })
    const saved = async (path: string, button: RegExp) => {
      await show(path)
      const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: button }).click()])
      return { name: download.suggestedFilename(), text: readFileSync((await download.path())!, 'utf8') }
    }
    expect(await saved('/Basic/saved', /^Save .*=1/)).toEqual({ name: expect.stringMatching(/^[\p{L}\p{N} ._-]+$/u), text: '<script>' })
    const { name, text } = await saved('/Basic?saved', /^Save as CSV$/)
    expect([name, text.split('\r\n').slice(1)]).toEqual([
      'Basic.csv',
      cells.map((cell, i) => `"${i}","${/^[=+\-@\t]/.test(cell) ? `'${cell}` : cell.replaceAll('"', '""')}"`),
    ])
  })
})

const issueOf = (text: string): Tree => ({ severity: text, code: text, details: { text }, diagnostics: text, expression: [text] })

type Watched = { readonly __hit?: unknown; readonly __violations: string[] }
