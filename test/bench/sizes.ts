/**
 * `npm run bench -- sizes [FOLDER[*COPIES]]…`: searches at several sizes. Each FOLDER with Synthea Bundles is a size; `*3` loads it three
 * times with different ids. For each size and for 1 and 8 connections it compares the speed of each shape with a bare node:http server,
 * and prints the processor time by thread. Then it prints the processor time at the last size divided by that at the first, and where the time
 * goes at the last size. Without arguments: the sample, once and three times.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findSourceFiles } from '../../bin/load/file-reader.ts'
import { load } from '../../bin/load/load.ts'
import { writeCopies } from './copies.ts'
import { otherProcesses } from './other-processes.ts'
import { averageComparison, compareSearches, patientsOf, ratiosOf, type SearchComparison, searchesOf } from './searches.ts'
import { sendRequest, startServer, stopAll, stopProcess } from './served.ts'
import { pick, READ, SHAPES } from './shapes.ts'
import { readProfiles, type Share } from './thread-profile.ts'
import { memoryOf } from './thread-times.ts'

const sizes = process.argv.length > 3 ? process.argv.slice(3) : ['test/fixtures/sample', 'test/fixtures/sample*3']
const CONNECTIONS = [1, 8] as const
const PROFILED = 4_000
const PORT = 18_086
const base = `http://127.0.0.1:${PORT}/fhir`
const scratch = mkdtempSync(join(tmpdir(), 'fhir-bench-'))

type Measured = { readonly resources: number; readonly compared: ReadonlyMap<number, readonly SearchComparison[]> }

/** Returns the folders to load: the given one, and those of its copies. `number`: of the size, so that sizes do not share copies. */
function foldersOf(size: string, number: number): readonly string[] {
  const [folder = '', copies = '1'] = size.split('*')
  const files = findSourceFiles([folder])
  const copied = Array.from({ length: Number(copies) - 1 }, (_, i) => join(scratch, `copy-${number}-${i + 1}`))
  for (const [i, each] of copied.entries()) writeCopies(files, each, i + 1)
  return [folder, ...copied]
}

async function loadAll(folders: readonly string[]): Promise<number> {
  const { resources, failures } = await load(findSourceFiles(folders), {
    base,
    concurrency: 4,
    onProgress: () => undefined,
    onBehind: () => undefined,
  })
  if (failures.length > 0) throw new Error(failures[0]!.reason)
  return resources
}

async function measure(data: string, folders: readonly string[]): Promise<Measured> {
  const loading = await startServer(PORT, data, 'env', 'FHIR_ACCESS=open')
  const resources = await loadAll(folders)
  console.log(`\n## ${resources} resources\n\nmemory while loading: ${memoryOf(loading.child, 'VmHWM')} MB at most`)
  await stopProcess(loading.child)
  const { child } = await startServer(PORT, data, 'env', 'FHIR_ACCESS=open')
  const patients = await patientsOf(base)
  const compared = new Map<number, readonly SearchComparison[]>()
  for (const connections of CONNECTIONS) {
    const others = otherProcesses()
    const all = await compareSearches({ base, child, port: PORT + 1, patients, connections })
    compared.set(connections, all)
    printSize(connections, [...all, { name: 'all searches', ...averageComparison(searchesOf(all)) }])
    console.log(`\nother processes used ${others()} % of the processors`)
  }
  console.log(`memory while searching: ${memoryOf(child, 'VmHWM')} MB at most`)
  await stopProcess(child)
  return { resources, compared }
}

function printSize(connections: number, all: readonly SearchComparison[]): void {
  console.log(`\nconnections: ${connections}. Times in ms of a request.\n`)
  console.log('| search | bytes | requests/s | of the bare server | by processor time | processor time | serving | index | others |')
  console.log('|---|---|---|---|---|---|---|---|---|')
  for (const each of all) {
    const { wall, processor, threads } = each.server
    const [serving, index] = [threads.get('MainThread') ?? 0, threads.get('fhir-index') ?? 0]
    const times = [processor, serving, index, processor - serving - index].map((ms) => ms.toFixed(3))
    console.log(`| ${[each.name, Math.round(each.bytes), Math.round(1_000 / wall), ...ratiosOf(each), ...times].join(' | ')} |`)
  }
}

/** Prints how processor time grows from the first size to the last. */
function printGrowth(first: Measured, last: Measured): void {
  console.log(`\n## Processor time at ${last.resources} divided by that at ${first.resources} resources\n`)
  console.log('| search | bytes | 1 connection | 8 connections |\n|---|---|---|---|')
  for (const [i, { name, bytes }] of first.compared.get(1)!.entries()) {
    const growth = CONNECTIONS.map((n) =>
      (last.compared.get(n)![i]!.server.processor / first.compared.get(n)![i]!.server.processor).toFixed(2),
    )
    console.log(`| ${[name, `${Math.round(bytes)}, ${Math.round(last.compared.get(1)![i]!.bytes)}`, ...growth].join(' | ')} |`)
  }
}

/** Maximum rows of a table of a profile. */
const MAX_ROWS = 25

/** Prints where the time of searches goes, for each thread that takes more than a fiftieth of it. */
async function printProfile(data: string): Promise<void> {
  const folder = join(scratch, 'profiles')
  const { child } = await startServer(PORT, data, 'env', 'FHIR_ACCESS=open', `NODE_OPTIONS=--cpu-prof --cpu-prof-dir=${folder}`)
  await sendSearches(await patientsOf(base))
  await stopProcess(child)
  const profiles = readProfiles(folder)
  const all = [...profiles.values()].reduce((sum, { ms }) => sum + ms, 0)
  for (const [thread, { groups, functions, ms }] of profiles) {
    if (ms < all / 50) continue
    console.log(`\n## Thread ${thread}: µs of a request, with the start of the server divided by ${PROFILED}\n`)
    printShare('group', groups)
    printShare('function', functions)
  }
}

function printShare(name: string, share: Share): void {
  console.log(`| ${name} | µs |\n|---|---|`)
  for (const [group, ms] of share.slice(0, MAX_ROWS)) console.log(`| ${group} | ${((ms * 1_000) / PROFILED).toFixed(1)} |`)
  console.log('')
}

async function sendSearches(patients: readonly string[]): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  const shapes = Object.entries(SHAPES).filter(([name]) => name !== READ)
  let count = 0
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      while (count < PROFILED) await sendRequest(`${base}/${shapes[count++ % shapes.length]![1](pick(patients))}`, { agent })
    }),
  )
  agent.destroy()
}

process.env.FHIR_ACCESS = 'open'
try {
  const measured: Measured[] = []
  for (const [i, size] of sizes.entries()) measured.push(await measure(join(scratch, `data-${i}`), foldersOf(size, i)))
  printGrowth(measured[0]!, measured.at(-1)!)
  await printProfile(join(scratch, `data-${sizes.length - 1}`))
} finally {
  await stopAll()
  rmSync(scratch, { recursive: true, force: true })
}
