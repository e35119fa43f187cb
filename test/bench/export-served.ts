/** Exports of a running server, over HTTP: what they add to its memory, and what they leave of its searches and writes. */
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { findSourceFiles } from '../../bin/load/file-reader.ts'
import { load } from '../../bin/load/load.ts'
import { type StartedServer, sendRequest, startServer, stopProcess } from './served.ts'

const PORT = 18_084
const BASE = `http://127.0.0.1:${PORT}/fhir`
const JSON_TYPE = { 'content-type': 'application/fhir+json' }
const ASYNC = { accept: 'application/fhir+json', prefer: 'respond-async' }
/** ms between two looks at an export, and at the memory. */
const LOOK = 100
/** Of each rate, without an export and with one in turn; ms of one. */
const [TURNS, TURN] = [4, 4_000]

const agent = new Agent({ keepAlive: true, maxSockets: 64 })
type Row = Readonly<Record<string, string>>

/** Loads the Bundles of a folder into a server of its own. */
export async function besideExports(folder: string): Promise<readonly Row[]> {
  process.env.FHIR_EXPORT_NEEDS_ASSERTION = 'off'
  const data = mkdtempSync(join(tmpdir(), 'fhir-bench-'))
  try {
    await filled(data, folder)
    return [...(await memoryRows(data)), ...(await rateRows(data))]
  } finally {
    agent.destroy()
    rmSync(data, { recursive: true })
  }
}

async function filled(data: string, folder: string): Promise<void> {
  await served(data, async ({ authorize }) => {
    const to = { base: BASE, ...(authorize === undefined ? {} : { authorize }), concurrency: 4, onProgress: () => undefined }
    const { failures } = await load(findSourceFiles([folder]), to)
    if (failures.length > 0) throw new Error(failures[0]!.reason)
    const member = (await patients()).map((id) => ({ entity: { reference: `Patient/${id}` } }))
    const group = { resourceType: 'Group', id: 'all', type: 'person', actual: true, member }
    const [status, body] = await sendRequest(`${BASE}/Group/all`, { agent, method: 'PUT', headers: JSON_TYPE, body: JSON.stringify(group) })
    if (status !== 201) throw new Error(`the Group is not written: ${status} ${body}`)
  })
}

async function served<T>(data: string, use: (running: StartedServer) => Promise<T>): Promise<T> {
  const running = await startServer(PORT, data)
  return use(running).finally(() => stopProcess(running.child))
}

type Page = {
  readonly entry?: readonly { readonly resource: { readonly id: string } }[]
  readonly link: readonly { readonly relation: string; readonly url: string }[]
}

/** All of them, when the index has caught up with the load. */
async function patients(): Promise<readonly string[]> {
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

/** Each with a server that did nothing before. */
async function memoryRows(data: string): Promise<readonly Row[]> {
  const rows: Row[] = []
  for (const asked of ['$export', 'Patient/$export?_elements=subject,patient', 'Group/all/$export'])
    rows.push(
      await served(data, async (running) => {
        await searches(TURN)
        const before = memoryOf(running.child)
        let most = before
        const looking = setInterval(() => {
          most = Math.max(most, memoryOf(running.child))
        }, LOOK)
        const lines = await exported(running, asked).finally(() => clearInterval(looking))
        const after = memoryOf(running.child)
        return {
          what: asked,
          figure: `${most - before} MB more`,
          of: `${lines} lines; ${before} MB before, ${most} at the most, ${after} after`,
        }
      }),
    )
  return rows
}

const memoryOf = ({ pid }: ChildProcess): number =>
  Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024)

/** Its lines. Its files are removed. */
async function exported({ authorize }: StartedServer, asked: string, { isWanted = (): boolean => true } = {}): Promise<number> {
  const sent = async (url: string, method = 'GET') => fetch(url, { method, headers: { ...ASYNC, ...(await authorize?.({ method, url })) } })
  const response = await sent(`${BASE}/${asked}`)
  const job = response.headers.get('content-location')
  if (response.status !== 202 || job === null) throw new Error(`${asked}: ${response.status} ${await response.text()}`)
  let status = await sent(job)
  for (; status.status !== 200 && isWanted(); status = await sent(job)) {
    if (status.status >= 400 && status.status !== 429) throw new Error(`${asked}: ${status.status} ${await status.text()}`)
    await wait(LOOK)
  }
  const { output = [] } = status.status === 200 ? ((await status.json()) as { readonly output: readonly { readonly count: number }[] }) : {}
  await sent(job, 'DELETE')
  return output.reduce((sum, { count }) => sum + count, 0)
}

/** Without an export and with one, in turn, so that whoever else uses the machine takes from both. */
async function rateRows(data: string): Promise<readonly Row[]> {
  return served(data, async (running) => {
    await searches(TURN)
    const rows: Row[] = []
    for (const [name, rate] of [
      ['searches beside an export', searches],
      ['creates beside an export', creates],
    ] as const) {
      const [alone, beside]: [number[], number[]] = [[], []]
      for (let turn = 0; turn < TURNS; turn++) {
        alone.push(await rate(TURN))
        beside.push(await besideOne(running, () => rate(TURN)))
      }
      const [without, withOne] = [meanOf(alone), meanOf(beside)]
      rows.push({
        what: name,
        figure: `${withOne.toFixed(0)}/s`,
        of: `${(withOne / without).toFixed(2)} of ${without.toFixed(0)}/s without one`,
      })
    }
    return rows
  })
}

/** Exports follow each other until the work is done. */
async function besideOne<T>(running: StartedServer, work: () => Promise<T>): Promise<T> {
  let isWanted = true
  const exports = (async () => {
    while (isWanted) await exported(running, '$export', { isWanted: () => isWanted })
  })()
  const result = await work().finally(() => {
    isWanted = false
  })
  await exports
  return result
}

const meanOf = (rates: readonly number[]): number => rates.reduce((sum, rate) => sum + rate, 0) / rates.length

const searches = (ms: number): Promise<number> => rateOf(4, ms, () => asked(`${BASE}/Observation?code=http://loinc.org|8302-2&_count=10`))

const creates = (ms: number): Promise<number> =>
  rateOf(32, ms, () => {
    const id = crypto.randomUUID()
    return asked(`${BASE}/Basic/${id}`, JSON.stringify({ resourceType: 'Basic', id, code: { text: 'bench' } }))
  })

async function asked(url: string, body?: string): Promise<void> {
  const [status, answer] = await sendRequest(url, { agent, ...(body === undefined ? {} : { method: 'PUT', headers: JSON_TYPE, body }) })
  if (status >= 400) throw new Error(`${url}: ${status} ${answer}`)
}

/** A second, `clients` at once. */
async function rateOf(clients: number, ms: number, each: () => Promise<void>): Promise<number> {
  const began = performance.now()
  let done = 0
  const client = async (): Promise<void> => {
    for (; performance.now() - began < ms; done++) await each()
  }
  await Promise.all(Array.from({ length: clients }, client))
  return (done * 1000) / (performance.now() - began)
}
