/** Server of the bench of payers. Its data folder may be that of an earlier run, so that a run continues there. */
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { findSourceFiles } from '../../../bin/load/file-reader.ts'
import { load } from '../../../bin/load/load.ts'
import { type StartedServer, sendRequest, startServer, stopProcess } from '../served.ts'
import { sumOfThreads, threadTimesOf } from '../thread-times.ts'
import { claimOf, memberOf, observationsOf, PAYER, wholeClaimsOf } from './members.ts'

export const PORT = 18_088
export const BASE = `http://127.0.0.1:${PORT}/fhir`
export const JSON_TYPE = { 'content-type': 'application/fhir+json' }
export const ASYNC = { accept: 'application/fhir+json', prefer: 'respond-async' }

/** The server is open: a client that may read all data may match members too. */
const SETTINGS = {
  ...{ FHIR_ACCESS: 'open', FHIR_CLIENT_IDS: 'optional', FHIR_EXPORT_NEEDS_ASSERTION: 'off' },
  ...{ FHIR_SENSITIVE_LABELS: 'none', FHIR_PAYER: PAYER, FHIR_GROUP_EXPORT_TYPES: 'all' },
}
Object.assign(process.env, SETTINGS)

/** Data of a run. `exported`: members in each of the two exported Groups. `claims`: short claims. */
export type BenchData = { readonly members: number; readonly exported: number; readonly claims: number }

export const agent = new Agent({ keepAlive: true, maxSockets: 16 })

/** Row of a result. `bound`: required limit; absent if the row only explains others. */
export type Row = { readonly measured: string; readonly figure: string; readonly bound?: string; readonly 'compared with'?: string }

/** Runs the work with a server that stops afterwards. */
export async function withServer<T>(data: string, use: (running: StartedServer) => Promise<T>): Promise<T> {
  const running = await startServer(PORT, data)
  return use(running).finally(() => stopProcess(running.child))
}

/** Returns the processor time of all threads of the server so far, in milliseconds. */
export const processorTime = ({ child }: StartedServer): number => sumOfThreads(threadTimesOf(child))

/** Sends a request and returns the body. Throws Error unless the server answers with the status. */
export async function expectStatus(
  expected: number,
  path: string,
  { method = 'GET', body, headers = JSON_TYPE }: { readonly method?: string; readonly body?: string; readonly headers?: object } = {},
): Promise<Buffer> {
  const request = { agent, method, headers: { ...headers }, ...(body === undefined ? {} : { body }) }
  const [status, answer] = await sendRequest(path.startsWith('http') ? path : `${BASE}/${path}`, request)
  if (status !== expected) throw new Error(`${method} ${path}: ${status} ${answer.subarray(0, 1_000)}`)
  return answer
}

/** Returns the value below which a share of the values is. */
export const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN

/** Milliseconds between two status requests. */
const POLL = 100

/** Starts a job, waits until it is complete, and returns its manifest. */
export async function runJob(
  path: string,
  body?: string,
): Promise<{ readonly output: readonly { readonly type: string; readonly count: number }[] }> {
  const sent = body === undefined ? {} : { method: 'POST', body }
  const [status, answer, headers] = await sendForHeaders(path, sent)
  const job = headers.get('content-location')
  if (status !== 202 || job === null) throw new Error(`${path}: ${status} ${answer.slice(0, 1_000)}`)
  for (;;) {
    const [state, text] = await sendRequest(job, { agent, headers: ASYNC })
    if (state === 200) return JSON.parse(text.toString())
    if (state >= 400 && state !== 429) throw new Error(`${path}: ${state} ${text}`)
    await wait(POLL)
  }
}

async function sendForHeaders(path: string, sent: object): Promise<readonly [number, string, Headers]> {
  const response = await fetch(`${BASE}/${path}`, { headers: { ...JSON_TYPE, ...ASYNC }, ...sent })
  return [response.status, await response.text(), response.headers]
}

/** Waits until the status of the index has one text and not another. */
export async function untilStatus({ has = '', hasNot }: { readonly has?: string; readonly hasNot: string }): Promise<void> {
  for (;;) {
    const text = (await expectStatus(200, '$reindex-status')).toString()
    if (text.includes(has) && !text.includes(hasNot)) return
    await wait(POLL)
  }
}

/** Returns the total size in MB of the files in the data folder with this text in their names. */
export const sizeOf = (data: string, part: string): number =>
  readdirSync(data, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.includes(part))
    .reduce((sum, name) => sum + statSync(join(data, name)).size, 0) / 1e6

const markerOf = (data: string): string => `${data}.bench.json`

export const loadedData = (data: string): BenchData | undefined =>
  existsSync(markerOf(data)) ? (JSON.parse(readFileSync(markerOf(data), 'utf8')) as BenchData) : undefined

/** Members, or claims, in one file. Each file is loaded and removed before the next one is written. */
const PER_FILE = 50_000
/** Members of exported Groups in one file. They have several resources each. */
const PER_EXPORT_FILE = 5_000

/** Yields the resources of one file after the other. */
function* filesOf({ members, exported, claims }: BenchData): Generator<readonly object[]> {
  for (const numbers of slices(0, members, PER_FILE)) yield numbers.flatMap(memberOf)
  for (const numbers of slices(0, exported, PER_EXPORT_FILE)) yield numbers.flatMap(observationsOf)
  for (const numbers of slices(exported, 2 * exported, PER_EXPORT_FILE)) yield numbers.flatMap(wholeClaimsOf)
  for (const numbers of slices(0, claims, PER_FILE))
    yield numbers.map((number) => claimOf(number, 2 * exported + (number % (members - 2 * exported))))
}

/** Loads the data into a new folder. */
export async function loadData(data: string, amounts: BenchData): Promise<readonly Row[]> {
  return withServer(data, async (running) => {
    const began = performance.now()
    const seconds = (): number => (performance.now() - began) / 1_000
    const file = `${data}.load.ndjson`
    let done = 0
    for (const resources of filesOf(amounts)) {
      writeFileSync(file, resources.map((each) => `${JSON.stringify(each)}\n`).join(''))
      const { failures } = await load(findSourceFiles([file]), { base: BASE, concurrency: 4, onProgress: () => undefined })
      rmSync(file)
      if (failures.length > 0) throw new Error(failures[0]!.reason)
      done += resources.length
      console.log(`loaded ${done} resources, ${Math.round(done / seconds())}/s`)
    }
    const stored = seconds()
    await untilSearchable()
    writeFileSync(markerOf(data), JSON.stringify(amounts))
    return [
      {
        measured: 'load',
        figure: `${Math.round(done / seconds())}/s`,
        'compared with': `${done} resources stored in ${stored.toFixed(0)} s, searchable after ${seconds().toFixed(0)} s; ${Math.round((processorTime(running) * 1_000) / done)} µs of processor time each`,
      },
    ]
  })
}

/** Waits until searches find everything. */
export async function untilSearchable(): Promise<void> {
  while (!/"lag","valueInteger":0\b/.test((await expectStatus(200, '$reindex-status')).toString())) await wait(POLL)
}

export const range = (from: number, to: number): readonly number[] => Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i)

function* slices(from: number, to: number, each: number): Generator<readonly number[]> {
  for (let first = from; first < to; first += each) yield range(first, Math.min(first + each, to))
}
