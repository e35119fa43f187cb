/**
 * `npm run bench -- explorer [FOLDER]`: pages of the explorer in chromium, on a server loaded with FOLDER (Synthea Bundles; without one: the
 * sample). Compares the time from the start of the navigation until the page shows its content with the time of the same API requests
 * without a browser, and with these requests after a page without content, which is the minimum for any page. For the chart, this is the time
 * until the results of its batch are shown; its plots are drawn later. Also prints the longest task of the chart with 3,000 Observations.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'
import { findSourceFiles } from '../../bin/load/file-reader.ts'
import { load } from '../../bin/load/load.ts'
import { sendRequest, startServer, stopProcess } from './served.ts'

const folder = process.argv[3] ?? 'test/fixtures/sample'
const ROUNDS = 15
const PORT = 18_083
const base = `http://127.0.0.1:${PORT}/fhir`
const data = mkdtempSync(join(tmpdir(), 'fhir-bench-'))
process.env.FHIR_ACCESS = 'open'
const { child } = await startServer(PORT, data, 'env', 'FHIR_ACCESS=open')
const agent = new Agent({ keepAlive: true, maxSockets: 6 })

type Sent = { readonly method: string; readonly url: string; readonly body: string | null }

const medianOf = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

const bare = ({ method, url, body }: Sent) =>
  sendRequest(url, { agent, method, ...(body === null ? {} : { body, headers: { 'content-type': 'application/fhir+json' } }) })

/** `ms`: from the start of the navigation until the element is there. */
type Shown = { readonly sent: readonly Sent[]; readonly ms: number }

/** Makes each document record the time at which the element `last` appears. */
const watchFor = (page: Page, last: string): Promise<unknown> =>
  page.addInitScript((selector) => {
    const seen = globalThis as unknown as { shown?: number }
    new MutationObserver((_, observer) => {
      if (document.querySelector(selector) === null) return
      seen.shown = performance.now()
      observer.disconnect()
    }).observe(document, { childList: true, subtree: true })
  }, last)

/** Opens the page, and resolves when the element `last` is there. `watchFor` must watch for it. */
async function show(page: Page, path: string, last: string): Promise<Shown> {
  const sent: Sent[] = []
  const note = (request: { resourceType(): string; method(): string; url(): string; postData(): string | null }) => {
    if (request.resourceType() === 'fetch') sent.push({ method: request.method(), url: request.url(), body: request.postData() })
  }
  page.on('request', note)
  await page.goto(`${base}/explorer${path}`)
  await page.locator(last).first().waitFor()
  page.off('request', note)
  return { sent, ms: await page.evaluate(() => (globalThis as unknown as { shown: number }).shown) }
}

/** Returns the milliseconds of a navigation until a page without content is parsed. */
async function showNothing(page: Page): Promise<number> {
  await page.goto(`${base}/explorer/assets/none`)
  return page.evaluate(() => (performance.getEntriesByType('navigation')[0] as PerformanceNavigationTiming).domContentLoadedEventEnd)
}

/** Stores a patient with this many Observations, of 30 codes. */
async function putObservations(count: number): Promise<void> {
  const headers = { 'content-type': 'application/fhir+json' }
  const observation = (i: number) => ({
    resourceType: 'Observation',
    id: `many-${i}`,
    status: 'final',
    code: { coding: [{ system: 'http://example.org', code: `c${i % 30}`, display: `Measurement ${i % 30}` }] },
    subject: { reference: 'Patient/many' },
    effectiveDateTime: new Date(Date.UTC(2000, 0, i)).toISOString(),
    valueQuantity: { value: i % 17, unit: 'mg' },
  })
  const resources = [{ resourceType: 'Patient', id: 'many' }, ...Array.from({ length: count }, (_, i) => observation(i))]
  const entry = resources.map((resource) => ({ resource, request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` } }))
  const body = JSON.stringify({ resourceType: 'Bundle', type: 'transaction', entry })
  const [status, answer] = await sendRequest(`${base}/`, { agent, method: 'POST', headers, body })
  if (status !== 200) throw new Error(answer.toString())
}

/** Returns the longest task of the page's script in ms, or 0 if none took 50. https://w3c.github.io/longtasks/ */
async function longestTaskOf(page: Page, path: string, last: string): Promise<number> {
  await page.addInitScript(() => {
    const seen = globalThis as unknown as { longest: number }
    seen.longest = 0
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) seen.longest = Math.max(seen.longest, duration)
    }).observe({ type: 'longtask', buffered: true })
  })
  await page.goto(`${base}/explorer${path}`)
  await page.locator(last).first().waitFor()
  return page.evaluate(() => (globalThis as unknown as { longest: number }).longest)
}

try {
  const { resources, failures } = await load(findSourceFiles([folder]), { base, concurrency: 4, onProgress: () => undefined })
  if (failures.length > 0) throw new Error(failures[0]!.reason)
  let answer = await sendRequest(`${base}/Patient?_count=1`, { agent })
  while (answer[0] === 503) answer = await sendRequest(`${base}/Patient?_count=1`, { agent })
  const id = JSON.parse(answer[1].toString()).entry[0].resource.id as string
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] })
  const pages = [
    ['home', '', '.counts a'],
    ['type', '/Observation?_sort=-date', 'tbody tr'],
    ['chart', `/Patient/${id}/chart`, '.timeline'],
  ] as const
  const nothing = await browser.newPage()
  console.log(`${resources} resources. Milliseconds, medians of ${ROUNDS}:
- a: until the page shows its content; b: of an empty page; c: of the same requests without a browser\n
| page | requests | a | b | c | a / c | a / (b + c) |\n|---|---|---|---|---|---|---|`)
  for (const [name, path, last] of pages) {
    const page = await browser.newPage()
    await watchFor(page, last)
    const times: { readonly a: number[]; readonly b: number[]; readonly c: number[] } = { a: [], b: [], c: [] }
    let { sent } = await show(page, path, last)
    for (let round = 0; round < ROUNDS; round++) {
      const shown = await show(page, path, last)
      sent = shown.sent
      times.a.push(shown.ms)
      times.b.push(await showNothing(nothing))
      times.c.push(await timeOf(() => Promise.all(sent.map(bare))))
    }
    const [a, b, c] = [medianOf(times.a), medianOf(times.b), medianOf(times.c)]
    const cells = [name, sent.length, a.toFixed(0), b.toFixed(0), c.toFixed(0), (a / c).toFixed(1), (a / (b + c)).toFixed(1)]
    console.log(`| ${cells.join(' | ')} |`)
    await page.close()
  }
  await putObservations(3_000)
  const longest = await longestTaskOf(await browser.newPage(), '/Patient/many/chart', 'canvas')
  console.log(`\nlongest task of the chart with 3,000 Observations: ${longest === 0 ? 'less than 50' : longest.toFixed(0)} ms`)
  await browser.close()
} finally {
  await stopProcess(child)
  rmSync(data, { recursive: true, force: true })
}
