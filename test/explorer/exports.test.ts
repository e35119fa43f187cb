/** The page of exports in a real browser: list, progress, files, cancellation, kick-off, and the callers that see jobs. */
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'
import { SqliteRows } from '../../lambdas/adapters/sqlite-rows/rows.ts'
import { JOB_ROWS, type Job } from '../../lambdas/export/job/job.ts'
import { jobIdAt } from '../../lambdas/export/schedules/schedules.ts'
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

const DAY = 24 * 60 * 60 * 1000

/** Starts an export as the loader, and returns the path of its job. */
async function startExport({ base, request }: Explored, path: string): Promise<string> {
  const response = await request('GET', path, undefined, { accept: 'application/fhir+json', prefer: 'respond-async' })
  expect(response.status).toBe(202)
  return response.headers.get('content-location')!.slice(base.length)
}

/** Stores a copy of the job with other members, as the server would have stored an earlier one. */
async function storeJob({ dataFolder }: Explored, from: string, more: Partial<Job> & { readonly id: string }): Promise<void> {
  const rows = new SqliteRows(join(dataFolder, 'exports.db'))
  const job = await rows.read<Job>(JOB_ROWS, from.split('/').at(-1)!)
  await rows.change<Job>(JOB_ROWS, more.id, () => ({ ...job!, ...more }))
  await rows.close()
}

const jobs = (page: Page) => page.getByRole('region', { name: 'Exports' }).getByRole('row')
const rowWith = (page: Page, text: string) => jobs(page).filter({ hasText: text })

;(HAS_BROWSER ? describe : describe.skip)('the page of exports', () => {
  let open: Explored
  let closed: Explored
  let browser: TestBrowser

  beforeAll(async () => {
    const settings = { FHIR_EXPORT_NEEDS_ASSERTION: 'off' }
    ;[open, closed, browser] = await Promise.all([startExplored('open'), startExplored('token', settings), TestBrowser.launch()])
    const job = await startExport(closed, '/Patient/$export?_type=Patient')
    const now = Date.now()
    const failed = { state: 'error', reason: 'The disk is full' } as const
    await storeJob(closed, job, { id: 'failed-today', ...failed, transactionTime: now - DAY, ended: now - DAY })
    await storeJob(closed, job, { id: 'failed-before', ...failed, reason: 'Too old', transactionTime: now - 9 * DAY, ended: now - 9 * DAY })
    await storeJob(closed, job, {
      id: jobIdAt('nightly', now - 2 * DAY),
      state: 'complete',
      transactionTime: now - 2 * DAY,
      ended: now - DAY,
    })
  })

  afterEach(() => {
    expect(browser?.problems).toEqual([])
  })

  closeAfterAll(() => [browser, open, closed])

  it('starts an export, follows it until it is complete, shows its files, and removes it', async () => {
    const page = await browser.open(`${open.base}/explorer/exports`)
    await page.getByText('No exports').waitFor()
    await page.getByLabel('Content').selectOption('All patients')
    await page.getByLabel('Types').fill('Patient, Condition')
    await page.getByLabel('Changed since').fill('2020-01-01T00:00')
    await page.getByRole('button', { name: 'Start' }).click()
    const row = rowWith(page, '/Patient/$export?_type=Patient,Condition&_since=')
    await row.getByText('Complete').waitFor()
    await row.getByRole('button', { name: 'Show files' }).click()
    const file = row.getByRole('link', { name: 'Patient', exact: true })
    await row.getByText('3 lines').waitFor()
    const lines = await (await fetch((await file.getAttribute('href'))!)).text()
    expect(lines.trim().split('\n').length).toBe(3)
    page.once('dialog', (dialog) => dialog.accept())
    await row.getByRole('button', { name: 'Remove' }).click()
    await page.getByText('No exports').waitFor()
  })

  it('shows the progress of a running job, and cancels it only after a confirmation', async () => {
    const page = await browser.open('about:blank')
    const progress = { running: [{ name: 'progress', valueString: '37% (37 of about 100 looked at)' }] }
    let isCancelled = false
    await page.route('**/export?*', (route) =>
      route.fulfill({ json: isCancelled ? listOf() : listOf(progress), headers: { 'retry-after': '60' } }),
    )
    await page.route('**/export/running', (route) => {
      isCancelled = route.request().method() === 'DELETE'
      return route.fulfill({ status: 202 })
    })
    await page.goto(`${open.base}/explorer/exports`)
    await page.getByText('37% (37 of about 100 looked at)').waitFor()
    expect(await page.getByRole('progressbar').getAttribute('value')).toBe('37')
    page.once('dialog', (dialog) => dialog.dismiss())
    await page.getByRole('button', { name: 'Cancel' }).click()
    expect(isCancelled).toBe(false)
    page.once('dialog', (dialog) => dialog.accept())
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('No exports').waitFor()
    expect(isCancelled).toBe(true)
  })

  it('asks again after Retry-After while a job runs, and stops when the page is left', async () => {
    const page = await browser.open('about:blank')
    await page.clock.install()
    const sent = dataRequestsOf(page, open.base)
    await page.route('**/export?*', (route) => route.fulfill({ json: listOf({ running: [] }), headers: { 'retry-after': '30' } }))
    const counted = () => sent.filter((each) => each === 'GET /export?_count=100').length
    await page.goto(`${open.base}/explorer/exports`)
    await page.getByText('1 export', { exact: true }).waitFor()
    await page.clock.runFor(29_000)
    expect(counted()).toBe(1)
    const again = page.waitForResponse('**/export?*')
    await page.clock.runFor(1_500)
    await again
    expect(counted()).toBe(2)
    await page.getByRole('link', { name: 'FHIR explorer' }).click()
    await page.getByRole('heading', { name: 'Resources' }).waitFor()
    await page.clock.runFor(120_000)
    expect(counted()).toBe(2)
  })

  it('shows an administrator in three clicks from home which exports failed this week, and the schedules', async () => {
    const page = await browser.open(`${closed.base}/`)
    await signIn(page, 'admin')
    await page.getByRole('navigation').getByRole('link', { name: 'Exports' }).click()
    await page.getByRole('link', { name: 'Failed' }).click()
    await page.getByRole('link', { name: 'Last 7 days' }).click()
    await page.getByText('1 failed export in the last 7 days').waitFor()
    expect(new URL(page.url()).search).toBe('?state=failed&days=7')
    await rowWith(page, 'The disk is full').getByText('Started by another client or user').waitFor()
    expect(await page.getByText('Too old').count()).toBe(0)
    await page.goBack()
    await page.getByText('2 failed exports').waitFor()
    await page.getByRole('link', { name: 'All' }).click()
    await page.getByRole('region', { name: 'Schedules' }).getByText('nightly').waitFor()
    await rowWith(page, 'schedule nightly').waitFor()
  })

  it('shows a user no job of others, and the reason why the server starts none', async () => {
    const page = await browser.open(`${closed.base}/explorer/exports`)
    await signIn(page, 'doctor')
    await page.getByText('No exports').waitFor()
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByRole('alert').getByText('No export was started').waitFor()
    await page.getByRole('alert').getByText('FHIR_USER_EXPORTS').waitFor()
    browser.problems.length = 0
  })

  it('shows the reason for an unknown type beside the form, and keeps the list', async () => {
    const page = await browser.open(`${open.base}/explorer/exports`)
    await page.getByLabel('Types').fill('Nothing')
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByRole('alert').getByText('which is no type of R4').waitFor()
    await page.getByText('No exports').waitFor()
    browser.problems.length = 0
  })

  it('shows that the list cannot be loaded, and tries again', async () => {
    const page = await browser.open('about:blank')
    await page.route('**/export?*', (route) => route.fulfill({ status: 503, json: { resourceType: 'OperationOutcome', issue: [] } }), {
      times: 1,
    })
    await page.goto(`${open.base}/explorer/exports`)
    await page.getByRole('alert').getByRole('button', { name: 'Try again' }).click()
    await page.getByText('No exports').waitFor()
    browser.problems.length = 0
  })

  it('has no finding of axe-core, and fits the screen, wide and narrow, light and dark', async () => {
    const page = await browser.open('about:blank')
    const failed = [{ name: 'reason', valueString: 'The export was begun too often, and never finished' }]
    await page.route('**/export?*', (route) => route.fulfill({ json: listOf({ running: [], complete: [], error: failed }) }))
    await page.route('**/export/complete', (route) =>
      route.fulfill({ json: { output: [{ type: 'Patient', url: `${open.base}/export-files/1/Patient.ndjson`, count: 3 }], error: [] } }),
    )
    await page.goto(`${open.base}/explorer/exports`)
    await page.getByRole('button', { name: 'Show files' }).click()
    await page.getByText('3 lines').waitFor()
    await page.getByLabel('Content').selectOption('One group')
    await expectAccessible(page)
  })
})

/** List of own jobs, by state, with further parts. */
const listOf = (more: Readonly<Record<string, readonly object[]>> = {}) => ({
  resourceType: 'Parameters',
  parameter: Object.entries(more).map(([id, parts]) => ({
    name: 'export',
    part: [
      { name: 'id', valueId: id },
      { name: 'state', valueCode: id === 'running' ? 'in-progress' : id },
      { name: 'start', valueInstant: '2031-01-01T03:00:00.000Z' },
      {
        name: 'request',
        valueUrl: 'https://fhir.example.org/fhir/Group/a-group-with-a-long-id/$export?_type=Patient,Condition,Observation',
      },
      { name: 'client', valueString: 'app' },
      { name: 'own', valueBoolean: true },
      ...parts,
    ],
  })),
})
