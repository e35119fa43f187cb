/** Exports of a running server over HTTP: the memory that they add, and the rates of searches and creates beside them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { findSourceFiles } from '../../bin/load/file-reader.ts'
import { load } from '../../bin/load/load.ts'
import { type StartedServer, sendRequest, startServer, stopProcess } from './served.ts'
import { memoryOf } from './thread-times.ts'

const PORT = 18_084
const BASE = `http://127.0.0.1:${PORT}/fhir`
const JSON_TYPE = { 'content-type': 'application/fhir+json' }
const ASYNC = { accept: 'application/fhir+json', prefer: 'respond-async' }
/** Milliseconds between two polls of an export, and of the memory. */
const POLL = 100
/** Turns of each rate, without and with an export. `TURN`: milliseconds of a turn. */
const [TURNS, TURN] = [4, 4_000]

const agent = new Agent({ keepAlive: true, maxSockets: 64 })
type Row = Readonly<Record<string, string>>

/** Loads the Bundles of a folder into a new server, and returns the rows of the table. */
export async function besideExports(folder: string): Promise<readonly Row[]> {
  process.env.FHIR_EXPORT_NEEDS_ASSERTION = 'off'
  const data = mkdtempSync(join(tmpdir(), 'fhir-bench-'))
  try {
    await fill(data, folder)
    return [...(await memoryRows(data)), ...(await rateRows(data))]
  } finally {
    agent.destroy()
    rmSync(data, { recursive: true })
  }
}

async function fill(data: string, folder: string): Promise<void> {
  await withServer(data, async ({ authorize }) => {
    const to = { base: BASE, ...(authorize === undefined ? {} : { authorize }), concurrency: 4, onProgress: () => undefined }
    const { failures } = await load(findSourceFiles([folder]), to)
    if (failures.length > 0) throw new Error(failures[0]!.reason)
    const member = (await patientIds()).map((id) => ({ entity: { reference: `Patient/${id}` } }))
    const group = { resourceType: 'Group', id: 'all', type: 'person', actual: true, member }
    const [status, body] = await sendRequest(`${BASE}/Group/all`, { agent, method: 'PUT', headers: JSON_TYPE, body: JSON.stringify(group) })
    if (status !== 201) throw new Error(`The Group was not written: ${status} ${body}`)
  })
}

/** Runs the work with a server that stops afterwards. */
async function withServer<T>(data: string, use: (running: StartedServer) => Promise<T>): Promise<T> {
  const running = await startServer(PORT, data)
  return use(running).finally(() => stopProcess(running.child))
}

type Page = {
  readonly entry?: readonly { readonly resource: { readonly id: string } }[]
  readonly link: readonly { readonly relation: string; readonly url: string }[]
}

/** Returns the ids of all patients. Waits until the index has caught up with the load. */
async function patientIds(): Promise<readonly string[]> {
  const ids: string[] = []
  for (let next: string | undefined = `${BASE}/Patient?_count=1000`; next !== undefined; ) {
    const [status, body] = await sendRequest(next, { agent })
    if (status !== 200) {
      await wait(1_000)
      continue
    }
    const { entry = [], link } = JSON.parse(body.toString()) as Page
    ids.push(...entry.map(({ resource }) => resource.id))
    next = link.find(({ relation }) => relation === 'next')?.url
  }
  return ids
}

/** Each export runs on a newly started server, whose memory no earlier export has enlarged. */
async function memoryRows(data: string): Promise<readonly Row[]> {
  const rows: Row[] = []
  for (const path of ['$export', 'Patient/$export?_elements=subject,patient', 'Group/all/$export'])
    rows.push(
      await withServer(data, async (running) => {
        await searchRate(TURN)
        const before = memoryOf(running.child, 'VmRSS')
        let most = before
        const polling = setInterval(() => {
          most = Math.max(most, memoryOf(running.child, 'VmRSS'))
        }, POLL)
        const lines = await runExport(running, path).finally(() => clearInterval(polling))
        const after = memoryOf(running.child, 'VmRSS')
        return {
          measured: path,
          figure: `${most - before} MB more`,
          'compared with': `${lines} lines; ${before} MB before, ${most} MB at most, ${after} MB after`,
        }
      }),
    )
  return rows
}

/** Runs an export, removes its files, and returns the number of their lines. Cancels the export when `isWanted` returns false. */
async function runExport({ authorize }: StartedServer, path: string, { isWanted = (): boolean => true } = {}): Promise<number> {
  const send = async (url: string, method = 'GET') => fetch(url, { method, headers: { ...ASYNC, ...(await authorize?.({ method, url })) } })
  const response = await send(`${BASE}/${path}`)
  const job = response.headers.get('content-location')
  if (response.status !== 202 || job === null) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  let status = await send(job)
  for (; status.status !== 200 && isWanted(); status = await send(job)) {
    if (status.status >= 400 && status.status !== 429) throw new Error(`${path}: ${status.status} ${await status.text()}`)
    await wait(POLL)
  }
  const { output = [] } = status.status === 200 ? ((await status.json()) as { readonly output: readonly { readonly count: number }[] }) : {}
  await send(job, 'DELETE')
  return output.reduce((sum, { count }) => sum + count, 0)
}

/** Measures without and with an export in turn, so that other processes slow both down. */
async function rateRows(data: string): Promise<readonly Row[]> {
  return withServer(data, async (running) => {
    await searchRate(TURN)
    const rows: Row[] = []
    for (const [name, rate] of [
      ['searches beside an export', searchRate],
      ['creates beside an export', createRate],
    ] as const) {
      const [alone, beside]: [number[], number[]] = [[], []]
      for (let turn = 0; turn < TURNS; turn++) {
        alone.push(await rate(TURN))
        beside.push(await besideExport(running, () => rate(TURN)))
      }
      const [without, withOne] = [meanOf(alone), meanOf(beside)]
      rows.push({
        measured: name,
        figure: `${withOne.toFixed(0)}/s`,
        'compared with': `${(withOne / without).toFixed(2)} of ${without.toFixed(0)}/s without one`,
      })
    }
    return rows
  })
}

/** Does the work while exports run, one after another. */
async function besideExport<T>(running: StartedServer, work: () => Promise<T>): Promise<T> {
  let isWanted = true
  const exports = (async () => {
    while (isWanted) await runExport(running, '$export', { isWanted: () => isWanted })
  })()
  const result = await work().finally(() => {
    isWanted = false
  })
  await exports
  return result
}

const meanOf = (rates: readonly number[]): number => rates.reduce((sum, rate) => sum + rate, 0) / rates.length

const searchRate = (ms: number): Promise<number> => rateOf(4, ms, () => send(`${BASE}/Observation?code=http://loinc.org|8302-2&_count=10`))

const createRate = (ms: number): Promise<number> =>
  rateOf(32, ms, () => {
    const id = crypto.randomUUID()
    return send(`${BASE}/Basic/${id}`, JSON.stringify({ resourceType: 'Basic', id, code: { text: 'bench' } }))
  })

/** Throws Error if the server refuses the request. */
async function send(url: string, body?: string): Promise<void> {
  const [status, answer] = await sendRequest(url, { agent, ...(body === undefined ? {} : { method: 'PUT', headers: JSON_TYPE, body }) })
  if (status >= 400) throw new Error(`${url}: ${status} ${answer}`)
}

/** Returns the calls per second of concurrent clients. */
async function rateOf(clients: number, ms: number, each: () => Promise<void>): Promise<number> {
  const began = performance.now()
  let done = 0
  const client = async (): Promise<void> => {
    for (; performance.now() - began < ms; done++) await each()
  }
  await Promise.all(Array.from({ length: clients }, client))
  return (done * 1000) / (performance.now() - began)
}
