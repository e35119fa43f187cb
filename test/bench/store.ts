/**
 * `node test/bench/store.ts`: times of the SQLite store, as a table. Takes less than a minute. Bodies have 1,000 to 3,000 bytes, ids are UUIDs.
 * A second run counts creates per flush with strace.
 */
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { SqliteResourceStore } from '../../lambdas/adapters/sqlite-store/resource-store.ts'
import type { Write } from '../../lambdas/ports/store/resource-store.ts'

const FILLER = new TextEncoder().encode('{"resourceType":"Observation","status":"final"}'.repeat(90))
const TYPES = ['Observation', 'Observation', 'Observation', 'Encounter', 'Procedure', 'Patient']

let written = 0

const folder = mkdtempSync(join(tmpdir(), 'fhir-bench-'))

async function measure(): Promise<void> {
  const rows: Record<string, string>[] = []
  const addRow = (measured: string, figure: string) => rows.push({ measured, figure })
  const file = join(folder, 'store.db')
  const store = await SqliteResourceStore.open({ file })
  addRow('floor: one insert of a body, a commit per 100, no keys', `${floor().toFixed(1)} µs`)
  await creates(store, 1, 2_000)
  const small = { alone: await creates(store, 1, 1_000), many: await creates(store, 32, 6_000), hundreds: await hundreds(store, 6_000) }
  addRow('at 2,000: create alone', described(small.alone))
  addRow('at 2,000: create, 32 at once', described(small.many))
  addRow('at 2,000: commits of 100, per resource', described(small.hundreds))
  const filling = await hundreds(store, 200_000 - written, 4)
  addRow('filling to 200,000, commits of 100, 4 at once, per resource', described(filling))
  const large = { alone: await creates(store, 1, 1_000), many: await creates(store, 32, 6_000), hundreds: await hundreds(store, 6_000) }
  addRow('at 200,000: create alone', described(large.alone))
  addRow('at 200,000: create, 32 at once', described(large.many))
  addRow('at 200,000: commits of 100, per resource', described(large.hundreds))
  for (const kind of ['alone', 'many', 'hundreds'] as const)
    addRow(`200,000 compared with 2,000: ${kind}`, (large[kind].perWrite / small[kind].perWrite).toFixed(2))
  for (const size of [1_500, 4_000]) addRow(`8 creators beside commits of 5,000, bodies of ${size}`, await besideLargeCommits(store, size))
  const ids = (await store.history({ tenant: 't', type: 'Observation' }, {}, undefined, 5_000)).versions
  const from = performance.now()
  for (const key of ids) await store.current([key])
  addRow('read of a current version', `${(((performance.now() - from) * 1000) / ids.length).toFixed(1)} µs`)
  addRow('memory of the process', `${Math.round(process.memoryUsage().rss / 1e6)} MB`)
  addRow('file per version', `${Math.round(statSync(file).size / written)} bytes for bodies of 2,000`)
  await store.close()
  const opening = performance.now()
  const again = await SqliteResourceStore.open({ file })
  addRow('open at 200,000', `${Math.round(performance.now() - opening)} ms`)
  await again.close()
  for (const clients of [1, 32]) addRow(`creates per flush, ${clients} at once`, createsPerFlush(clients))
  console.table(rows)
}

type Figures = { readonly perWrite: number; readonly waits: readonly number[] }

const described = ({ perWrite, waits }: Figures): string => `${perWrite.toFixed(1)} µs; ${describedWaits(waits)}`

function describedWaits(waits: readonly number[]): string {
  const sorted = waits.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!.toFixed(1)
  return `waits ms: median ${at(0.5)}, 99 % ${at(0.99)}, longest ${at(1)}`
}

const creates = (store: SqliteResourceStore, clients: number, count: number) => commits(store, clients, count, 1)
const hundreds = (store: SqliteResourceStore, count: number, clients = 1) => commits(store, clients, Math.ceil(count / 100), 100)

async function commits(store: SqliteResourceStore, clients: number, count: number, size: number): Promise<Figures> {
  const waits: number[] = []
  let attempts = 0
  const from = performance.now()
  await Promise.all(
    [...Array(clients).keys()].map(async () => {
      while (attempts++ < count) {
        const began = performance.now()
        await store.commit(newWrites(size), [])
        waits.push(performance.now() - began)
      }
    }),
  )
  return { perWrite: ((performance.now() - from) * 1000) / (waits.length * size), waits }
}

async function besideLargeCommits(store: SqliteResourceStore, size: number): Promise<string> {
  const large = [...Array(5).keys()].map(() => newWrites(5_000, size))
  const waits: number[] = []
  let isDone = false
  const creators = [...Array(8).keys()].map(async () => {
    for (; !isDone; await setTimeout(2)) waits.push(await timed(() => store.commit(newWrites(1), [])))
  })
  const took: number[] = []
  for (const writes of large) took.push(await timed(() => store.commit(writes, [])))
  isDone = true
  await Promise.all(creators)
  return `a large one ${Math.round(Math.max(...took))} ms; ${describedWaits(waits)}`
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now()
  await work()
  return performance.now() - from
}

function newWrites(count: number, size?: number): readonly Write[] {
  return [...Array(count).keys()].map(() => ({
    ...{ tenant: 't', type: TYPES[++written % TYPES.length]!, id: randomUUID(), expected: 0, lastUpdated: written, deleted: false },
    ...{ compartments: [`Patient/${written % 100}`], body: FILLER.subarray(0, size ?? 1000 + ((written * 7919) % 2000)) },
  }))
}

function floor(): number {
  const db = new DatabaseSync(join(folder, 'floor.db'))
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE body (body BLOB)')
  const insert = db.prepare('INSERT INTO body VALUES (?)')
  const from = performance.now()
  for (let n = 0; n < 10_000; n++) {
    if (n % 100 === 0) db.exec('BEGIN')
    insert.run(FILLER.subarray(0, 1000 + ((n * 7919) % 2000)))
    if (n % 100 === 99) db.exec('COMMIT')
  }
  db.close()
  return ((performance.now() - from) * 1000) / 10_000
}

async function onlyCreates(clients: number): Promise<void> {
  const store = await SqliteResourceStore.open({ file: join(folder, 'store.db') })
  await creates(store, clients, 1_600)
  await store.close()
}

function createsPerFlush(clients: number): string {
  const trace = join(folder, 'flushes')
  const command = [process.execPath, fileURLToPath(import.meta.url), 'creates', `${clients}`]
  const run = spawnSync('strace', ['-f', '--seccomp-bpf', '-e', 'trace=fsync,fdatasync', '-o', trace, ...command])
  if (run.status !== 0) return 'not measured: strace failed'
  const flushes = readFileSync(trace, 'utf8').match(/f(data)?sync\(/g)?.length ?? 0
  return `${(1_600 / flushes).toFixed(1)} (checkpoints included)`
}

try {
  if (process.argv[2] === 'creates') await onlyCreates(Number(process.argv[3]))
  else await measure()
} finally {
  rmSync(folder, { recursive: true })
}
