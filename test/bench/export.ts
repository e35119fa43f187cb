/**
 * `npm run bench -- export [FOLDER]`: exports the Synthea Bundles of a folder (without one: the sample) by the workflow of the embedded
 * deployment. Compares it with a floor in the same run: reading all bodies from one table of SQLite and writing them to one file. Then exports
 * from a server (export-served.ts). Prints tables; asserts nothing.
 */
import { closeSync, fsyncSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { WHOLE_ACCESS } from '../../lambdas/access/access.ts'
import { FilesystemBlobStore } from '../../lambdas/adapters/filesystem/blob-store.ts'
import { InProcessWorkflow } from '../../lambdas/adapters/in-process/workflow.ts'
import { SqliteRows } from '../../lambdas/adapters/sqlite-rows/rows.ts'
import { SqliteResourceStore } from '../../lambdas/adapters/sqlite-store/resource-store.ts'
import { DEFAULT_ADDITIONAL_RESOURCES } from '../../lambdas/export/additional-resources.ts'
import type { ExportLevel, ExportRequest } from '../../lambdas/export/export-request.ts'
import { JOB_ROWS, type Job } from '../../lambdas/export/job/job.ts'
import { startJob } from '../../lambdas/export/job/job-sweep.ts'
import { exportStep } from '../../lambdas/export/workflow/workflow-step.ts'
import { exportWorkflow } from '../../lambdas/export/workflow.ts'
import { compartmentsOf } from '../../lambdas/fhir/compartment.ts'
import { parseJson, writeJson } from '../../lambdas/fhir/json.ts'
import { replaceReferences } from '../../lambdas/fhir/references.ts'
import type { Resource } from '../../lambdas/fhir/resource.ts'
import { stampResource } from '../../lambdas/fhir/version.ts'
import type { Write } from '../../lambdas/ports/store/resource-store.ts'
import { noMatches, noMatchLimits } from '../fixtures/exporting.ts'
import { besideExports } from './export-served.ts'

const BASE = 'http://127.0.0.1/fhir'
const ROUNDS = 3
/** Maximum resources of one commit. */
const MAX_PAGE = 2_000
const WRITTEN = Date.UTC(2026, 0, 1)

const folder = process.argv[3] ?? 'test/fixtures/sample'
const scratch = mkdtempSync(join(tmpdir(), 'fhir-bench-'))
const store = await SqliteResourceStore.open({ file: join(scratch, 'store.db') })
const rows = new SqliteRows(join(scratch, 'rows.db'))
const floorFile = join(scratch, 'floor.db')

let written = WRITTEN
/** Resources that are stored already. Many Bundles contain the same organizations and practitioners. */
const seen = new Set<string>()
const resources = await fill()

type Spent = { readonly wall: number; readonly processor: number }

const blobs = new FilesystemBlobStore(join(scratch, 'blobs'))
const workflow = new InProcessWorkflow({
  definition: exportWorkflow('export-step'),
  step: exportStep({
    ...{
      rows,
      resources: store,
      blobs,
      now: () => Date.now(),
      elapsed: () => performance.now(),
      newId: () => crypto.randomUUID(),
    },
    index: { find: unexpectedSearch, distinct: unexpectedSearch },
    readingOf: async () => ({ baseUrl: BASE }),
    expressions: () => ({ evaluate: unexpectedSearch }),
    ...{
      budget: 10_000,
      groupTypes: [],
      additionalResources: DEFAULT_ADDITIONAL_RESOURCES,
      storeMatch: noMatches,
      isPartner: async () => true,
      matchLimits: noMatchLimits,
      report: console.error,
    },
    partners: { payer: [], sensitiveLabels: 'unknown', payerWindowYears: 5, providerSince: '2016-01-01' },
    disclosing: { blobs, payer: { name: 'Payer' } },
  }),
  writers: 1,
  report: console.error,
})

function unexpectedSearch(): Promise<never> {
  throw new Error('These exports need no index')
}

/** Stores the resources as transactions with these Bundles would. Returns their number. */
async function fill(): Promise<number> {
  let count = 0
  const db = new DatabaseSync(floorFile)
  db.exec('PRAGMA journal_mode = WAL; CREATE TABLE body (id INTEGER PRIMARY KEY, body BLOB NOT NULL)')
  const insert = db.prepare('INSERT INTO body (body) VALUES (?)')
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((each) => /\.json(?:\.gz)?$/.test(each))) {
    const writes = writesOf(readFileSync(join(folder, name)), name.endsWith('.gz'))
    db.exec('BEGIN')
    for (const { body } of writes) insert.run(body)
    db.exec('COMMIT')
    for (let from = 0; from < writes.length; from += MAX_PAGE) await commit(writes.slice(from, from + MAX_PAGE))
    count += writes.length
  }
  db.close()
  return count
}

async function commit(writes: readonly Write[]): Promise<void> {
  const { kind } = await store.commit(writes, [])
  if (kind !== 'committed') throw new Error(`The store did not commit: ${kind}`)
}

function writesOf(bytes: Buffer, isPacked: boolean): readonly Write[] {
  const text = (isPacked ? gunzipSync(bytes) : bytes).toString('utf8')
  const { entry = [] } = parseJson(text) as { readonly entry?: readonly { readonly fullUrl?: string; readonly resource: Resource }[] }
  const names = new Map(entry.map(({ fullUrl, resource }) => [fullUrl, `${resource.resourceType}/${resource.id}`]))
  return entry.flatMap(({ resource }): readonly Write[] => {
    const key = { tenant: 'default', type: resource.resourceType, id: resource.id! }
    if (seen.has(`${key.type}/${key.id}`)) return []
    seen.add(`${key.type}/${key.id}`)
    const lastUpdated = ++written
    const stamped = stampResource(
      replaceReferences(resource, (reference) => names.get(reference)),
      key.id,
      1,
      lastUpdated,
    )
    const body = new TextEncoder().encode(writeJson(stamped))
    return [{ ...key, expected: 0, lastUpdated, deleted: false, compartments: compartmentsOf(stamped, { baseUrl: BASE }), body }]
  })
}

/** Returns the best of several rounds, because other processes only add to the time. */
async function best(once: () => Promise<void>): Promise<Spent> {
  const all: Spent[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const [began, used] = [performance.now(), process.cpuUsage()]
    await once()
    const { user, system } = process.cpuUsage(used)
    all.push({ wall: performance.now() - began, processor: (user + system) / 1000 })
  }
  return { wall: Math.min(...all.map(({ wall }) => wall)), processor: Math.min(...all.map(({ processor }) => processor)) }
}

async function floor(): Promise<void> {
  const db = new DatabaseSync(floorFile, { readOnly: true })
  const select = db.prepare('SELECT body FROM body ORDER BY id')
  const file = openSync(join(scratch, 'floor.ndjson'), 'w')
  const buffer = Buffer.alloc(8 * 1024 * 1024)
  let size = 0
  for (const { body } of select.iterate() as Iterable<{ readonly body: Uint8Array }>) {
    if (size + body.length + 1 > buffer.length) {
      writeSync(file, buffer, 0, size)
      size = 0
    }
    buffer.set(body, size)
    buffer[size + body.length] = 10
    size += body.length + 1
  }
  writeSync(file, buffer, 0, size)
  fsyncSync(file)
  closeSync(file)
  db.close()
}

let jobs = 0
let lines = 0

async function exported(level: ExportLevel, parameters: Partial<ExportRequest> = {}): Promise<void> {
  const now = Date.now()
  const job: Job = {
    ...{ id: `bench-${jobs++}`, tenant: 'default', client: 'bench', access: WHOLE_ACCESS, request: '', baseUrl: BASE, level },
    ...{ transactionTime: now, state: 'in-progress', attempt: 1 },
    asked: { elements: [], patients: [], filters: [], passedOver: [], ...parameters },
  }
  await rows.change<Job>(JOB_ROWS, job.id, () => job)
  await startJob(workflow, job)
  for (;;) {
    const { state, files = [] } = (await rows.read<Job>(JOB_ROWS, job.id))!
    if (state === 'error') throw new Error('The export failed')
    if (state === 'complete') {
      lines = files.reduce((sum, { count }) => sum + count, 0)
      return
    }
    await wait(2)
  }
}

try {
  const least = await best(floor)
  const rows: Record<string, string>[] = [{ measured: 'floor', lines: `${resources}`, ...figuresOf(least) }]
  const measure = async (name: string, once: () => Promise<void>): Promise<void> => {
    const spent = await best(once)
    const ratio = `${(least.processor / spent.processor).toFixed(2)} by processor, ${(least.wall / spent.wall).toFixed(2)} by wall`
    rows.push({ measured: name, lines: `${lines}`, ...figuresOf(spent), 'of the floor’s speed': ratio })
  }
  await measure('$export', () => exported('system'))
  await measure('Patient/$export', () => exported('patient'))
  await measure('Patient/$export?_elements=subject,patient', () =>
    exported('patient', { elements: [{ element: 'subject' }, { element: 'patient' }] }),
  )
  console.table(rows)
  console.log(`memory of the process: ${Math.round(process.resourceUsage().maxRSS / 1024)} MB at most`)
} finally {
  await workflow.close()
  await store.close()
  rows.close()
  rmSync(scratch, { recursive: true })
}

console.table(await besideExports(folder))

function figuresOf({ wall, processor }: Spent): Record<string, string> {
  return { 'processor ms': processor.toFixed(0), 'wall ms': wall.toFixed(0) }
}
