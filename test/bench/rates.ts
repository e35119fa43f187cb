/**
 * `npm run bench [-- FOLDER]`: compares rates of the server with floors measured in the same run. FOLDER contains Synthea Bundles; without one
 * the bench loads the sample. Prints a table; asserts nothing. Ratios differ less between machines than figures do.
 */
import { type ChildProcess, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findSourceFiles } from '../../bin/load/file-reader.ts'
import { load } from '../../bin/load/load.ts'
import { averageComparison, bareServer, compareSearches, patientsOf, ratiosOf, type SearchComparison, searchesOf } from './searches.ts'
import { sendRequest, startServer, stopAll, stopProcess } from './served.ts'
import { TOKEN } from './shapes.ts'
import { memoryOf, sumOfThreads, type ThreadTimes, threadTimesBetween, threadTimesOf } from './thread-times.ts'

const HEADERS = { 'content-type': 'application/fhir+json' }
const folder = process.argv[2] ?? 'test/fixtures/sample'
const scratch = mkdtempSync(join(tmpdir(), 'fhir-bench-'))
const PORT = 18_080
const base = `http://127.0.0.1:${PORT}/fhir`
const rows: (readonly [measured: string, figure: string, ratio: string])[] = []

const agent = new Agent({ keepAlive: true, maxSockets: 64 })

async function send(url: string, method = 'GET', body?: string): Promise<number> {
  const [status] = await sendRequest(url, { agent, method, ...(body === undefined ? {} : { headers: HEADERS, body }) })
  return status
}

/** Returns requests per second of concurrent clients. A tenth of `total` runs first, so that the server has compiled its code. */
async function throughput(clients: number, total: number, each: (i: number) => Promise<unknown>): Promise<number> {
  const round = async (from: number, count: number): Promise<number> => {
    let next = from
    const began = performance.now()
    await Promise.all(
      Array.from({ length: clients }, async () => {
        while (next < from + count) await each(next++)
      }),
    )
    return (count * 1000) / (performance.now() - began)
  }
  await round(0, Math.ceil(total / 10))
  return round(total, total)
}

async function benchRead(): Promise<void> {
  const { child } = await startServer(PORT, join(scratch, 'read'))
  const patient = JSON.stringify({ resourceType: 'Patient', id: 'a', active: true, name: [{ family: 'x'.repeat(800) }] })
  await send(`${base}/Patient/a`, 'PUT', patient)
  const [, bytes] = await sendRequest(`${base}/Patient/a`, { agent })
  const bare = await bareServer(PORT + 1)
  const floor = await throughput(16, 20_000, () => send(`http://127.0.0.1:${PORT + 1}/${bytes.length}`))
  const read = await throughput(16, 20_000, () => send(`${base}/Patient/a`))
  await stopProcess(bare)
  rows.push([
    'read over HTTP, 16 connections',
    `${Math.round(read)}/s`,
    `${(read / floor).toFixed(2)} of a bare node:http server (${Math.round(floor)}/s)`,
  ])
  await stopProcess(child)
}

/** The kernel stops the server only at these calls. A stop at every call would slow the creates down, and fewer would share a flush. */
const ONLY_FLUSHES = ['-f', '-c', '--seccomp-bpf', '-e', 'trace=fdatasync,fsync']

async function benchCreate(): Promise<void> {
  if (spawnSync('strace', [...ONLY_FLUSHES, '-o', join(scratch, 'strace'), 'true']).status !== 0)
    return void rows.push(['creates per flush', '–', 'not measured: strace failed'])
  for (const clients of [1, 32]) {
    const log = join(scratch, `strace-${clients}`)
    const { child } = await startServer(PORT, join(scratch, `create-${clients}`), 'strace', ...ONLY_FLUSHES, '-o', log)
    const total = clients === 1 ? 300 : 3_000
    // Ends the server, and strace ends with it. The server would survive the end of strace.
    const server = Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ')[0])
    const ended = once(child, 'exit')
    try {
      await throughput(clients, total, (i) => send(`${base}/Patient/c${i}`, 'PUT', `{"resourceType":"Patient","id":"c${i}","active":true}`))
    } finally {
      process.kill(server, 'SIGTERM')
      await ended
    }
    const flushes = [...readFileSync(log, 'utf8').matchAll(/^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?f(?:data)?sync/gm)].reduce(
      (sum, [, calls]) => sum + Number(calls),
      0,
    )
    rows.push([
      `creates per flush, ${clients} connection${clients === 1 ? '' : 's'}`,
      ((total * 1.1) / flushes).toFixed(1),
      `${flushes} flushes for ${Math.round(total * 1.1)} creates, checkpoints included`,
    ])
  }
}

/** Measured creates, and all creates of a measurement with the warm-up. */
const CREATED = 2_000
const CREATES = CREATED * 1.1

/** Returns creates per second with random ids and 32 connections. */
const createRate = (): Promise<number> =>
  throughput(32, CREATED, () => {
    const id = crypto.randomUUID()
    return send(
      `${base}/Observation/${id}`,
      'PUT',
      `{"resourceType":"Observation","id":"${id}","status":"final","code":{"coding":[{"system":"http://loinc.org","code":"9279-1"}]},"subject":{"reference":"Patient/${id}"},"effectiveDateTime":"2020-05-14"}`,
    )
  })

/** Adds the share of each thread in the processor time of a create, which includes indexing. */
function indexingRow(before: ThreadTimes, after: ThreadTimes): void {
  const spent = threadTimesBetween(before, after)
  const all = sumOfThreads(spent)
  const share = (name: string): string => `${Math.round(((spent.get(name) ?? 0) * 100) / all)} %`
  rows.push([
    'indexing, of the processor time of a create',
    share('fhir-index'),
    `store ${share('fhir-store')}, serving ${share('MainThread')}`,
  ])
}

/** Adds the bytes on disk per resource. The server must have ended, because each version is then in one place only. */
function diskRow(data: string, resources: number): void {
  const each = (name: string): number => Math.round(statSync(join(data, name)).size / resources)
  const [store, index] = [each('store.db'), each('index.db')]
  rows.push([
    'disk, per resource',
    `${store + index} bytes`,
    `store ${store}, index ${index}; ${resources} resources, small creates among them`,
  ])
}

async function benchLoad(): Promise<void> {
  // Reads the files once, so that the floor and the load both read them from memory.
  for (const { file } of findSourceFiles([folder])) readFileSync(file)
  const floorRun = spawnSync(process.execPath, ['test/bench/floor-load.ts', folder, join(scratch, 'floor.db')], { encoding: 'utf8' })
  const floor = JSON.parse(floorRun.stdout) as { resources: number; ms: number }
  const data = join(scratch, 'load')
  const { child, authorize } = await startServer(PORT, data)
  const small = await createRate()
  const began = performance.now()
  const tenths: number[] = []
  let sent = 0
  const { failures } = await load(findSourceFiles([folder]), {
    base,
    ...(authorize === undefined ? {} : { authorize }),
    concurrency: 4,
    onProgress({ resources }) {
      sent += resources
      while (sent >= ((tenths.length + 1) * floor.resources) / 10) tenths.push(performance.now() - began)
    },
  })
  const seconds = (performance.now() - began) / 1000
  if (failures.length > 0) throw new Error(`The load failed: ${failures[0]!.reason}`)
  while ((await send(`${base}/Patient?_summary=count`)) === 503) await new Promise((resolve) => setTimeout(resolve, 200))
  const indexed = (performance.now() - began) / 1000
  const rate = floor.resources / seconds
  const floorRate = (floor.resources * 1000) / floor.ms
  rows.push([
    `load of ${floor.resources} resources`,
    `${Math.round(rate)}/s`,
    `${(rate / floorRate).toFixed(2)} of parsing and inserting the bodies (${Math.round(floorRate)}/s)`,
  ])
  rows.push([
    '… until all of it is searchable',
    `${indexed.toFixed(1)} s`,
    `${(floor.resources / indexed / floorRate).toFixed(2)} of the same`,
  ])
  const [second = 0, fourth = 0, eighth = 0, tenth = seconds * 1000] = [1, 3, 7, 9].map((i) => tenths[i])
  rows.push([
    '… its speed at the end',
    '',
    `${((fourth - second) / (tenth - eighth)).toFixed(2)} of that at its start (second and last fifth)`,
  ])
  rows.push(['… memory of the server at most', `${memoryOf(child, 'VmHWM')} MB`, ''])
  const before = threadTimesOf(child)
  const large = await createRate()
  indexingRow(before, threadTimesOf(child))
  rows.push([
    `create, 32 connections, at ${floor.resources} resources`,
    `${Math.round(large)}/s`,
    `${(small / large).toFixed(2)} of the time at 2,000 (${Math.round(small)}/s)`,
  ])
  await stopProcess(child)
  diskRow(data, floor.resources + 2 * CREATES)
  const again = await startServer(PORT, data)
  rows.push([`start with ${floor.resources} resources`, `${Math.round(again.ready)} ms`, ''])
  await benchSearches(again.child)
  await stopProcess(again.child)
}

async function benchSearches(child: ChildProcess): Promise<void> {
  const patients = await patientsOf(base)
  const compared = await compareSearches({ base, child, port: PORT + 1, patients, connections: 8 })
  const addRow = (name: string, comparison: Omit<SearchComparison, 'name'>): void => {
    const [wall, processor] = ratiosOf(comparison)
    rows.push([
      name,
      `${Math.round(1_000 / comparison.server.wall)}/s`,
      `${wall} of a bare node:http server, ${processor} by processor time`,
    ])
  }
  addRow('searches of 16 shapes, 8 connections', averageComparison(searchesOf(compared)))
  const token = compared.find(({ name }) => name === TOKEN)!
  addRow(`… those of 20 Observations by code, ${Math.round(token.bytes)} bytes`, token)
}

try {
  await benchRead()
  await benchCreate()
  await benchLoad()
} finally {
  agent.destroy()
  await stopAll()
  rmSync(scratch, { recursive: true, force: true })
}
console.log(['| measured | figure | compared with |', '|---|---|---|', ...rows.map((row) => `| ${row.join(' | ')} |`)].join('\n'))
