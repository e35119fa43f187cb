/**
 * `node test/bench/search-http.ts FOLDER`: searches over HTTP of a server loaded with FOLDER (Synthea Bundles), one after the other: for
 * each of sixteen shapes the median and the 95th percentile in milliseconds, the arguments taken at random from what was loaded.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { load } from '../../lambdas/runtime/load/load.ts'
import { sourcesOf } from '../../lambdas/runtime/load/read-files.ts'
import { ask, start, stop } from './served.ts'

const [folder = 'test/fixtures/sample', rounds = '200'] = process.argv.slice(2)
const data = mkdtempSync(join(tmpdir(), 'fhir-bench-'))
const PORT = 18_082
const base = `http://127.0.0.1:${PORT}/fhir`
const { child, authorize } = await start(PORT, data)
const agent = new Agent({ keepAlive: true, maxSockets: 1 })

const get = (query: string) => ask(`${base}/${query}`, { agent, headers: { prefer: 'handling=strict' } })

type Found = { readonly entry?: readonly { readonly resource: { readonly id: string } }[] }
const found = ([status, body]: readonly [status: number, body: Buffer], query: string): Found => {
  if (status !== 200) throw new Error(`${query}: ${status} ${body}`)
  return JSON.parse(body.toString()) as Found
}

/** What is asked before the index has caught up with the load is answered with 503. */
async function indexed(query: string): Promise<Found> {
  for (;;) {
    const answer = await get(query)
    if (answer[0] !== 503) return found(answer, query)
  }
}
const pick = <T>(of: readonly T[]): T => of[Math.floor(Math.random() * of.length)]!

const SHAPES: Readonly<Record<string, (patient: string) => string>> = {
  'floor: a read': (p) => `Patient/${p}`,
  'id look-up': (p) => `Patient?_id=${p}`,
  token: () => `Observation?code=http://loinc.org|${pick(['8302-2', '29463-7', '4548-4'])}`,
  'patient + category': (p) => `Observation?patient=${p}&category=laboratory`,
  'patient + date range': (p) => `Observation?patient=${p}&date=ge${pick(['2010', '2014'])}&date=lt2018`,
  'date range': () => `Encounter?date=ge${pick(['2010', '2012'])}-05&date=lt2013`,
  'string prefix': () => `Patient?name=${pick(['a', 'be', 'mar', 's'])}`,
  identifier: (p) => `Patient?identifier=https://github.com/synthetichealth/synthea|${p}`,
  quantity: () => `Observation?value-quantity=gt${pick([170, 180, 190])}||cm`,
  composite: () => `Observation?code-value-quantity=8302-2$gt${pick([170, 180])}||cm`,
  chain: () => `Observation?patient.birthdate=${pick([1950, 1960, 1970])}&code=8302-2`,
  _has: () => `Patient?_has:Observation:patient:code-value-quantity=4548-4$gt${pick([6, 7])}`,
  _include: (p) => `Observation?patient=${p}&code=8302-2&_include=Observation:patient&_include=Observation:encounter`,
  _revinclude: (p) => `Patient?_id=${p}&_revinclude=Condition:patient`,
  sort: () => `Observation?category=${pick(['laboratory', 'vital-signs'])}&_sort=-date`,
  count: () => `Observation?status=final&date=ge${pick([2010, 2015])}&_summary=count`,
  group: (p) => `Observation?patient=${p}&_group=code:code&_groupSort=-date`,
}

try {
  const began = performance.now()
  const { resources, failures } = await load(sourcesOf([folder]), {
    base,
    ...(authorize === undefined ? {} : { authorize }),
    concurrency: 4,
    onProgress: () => undefined,
  })
  if (failures.length > 0) throw new Error(failures[0]!.reason)
  const patients = (await indexed('Patient?_count=1000')).entry!.map(({ resource }) => resource.id)
  console.log(
    `${resources} resources, searchable after ${((performance.now() - began) / 1000).toFixed(1)} s\n\n| search | p50 ms | p95 ms | longest |\n|---|---|---|---|`,
  )
  // In turn, so that no search finds what the one before it has just looked at.
  const times = new Map(Object.keys(SHAPES).map((name) => [name, [] as number[]]))
  for (let round = 0; round < Number(rounds) + 20; round++)
    for (const [name, shape] of Object.entries(SHAPES)) {
      const query = shape(pick(patients))
      const asked = performance.now()
      const answer = await get(query)
      if (round >= 20) times.get(name)!.push(performance.now() - asked)
      found(answer, query)
    }
  for (const [name, all] of times) {
    all.sort((a, b) => a - b)
    const at = (share: number): string => all[Math.min(all.length - 1, Math.floor(all.length * share))]!.toFixed(1)
    console.log(`| ${name} | ${at(0.5)} | ${at(0.95)} | ${at(1)} |`)
  }
} finally {
  agent.destroy()
  await stop(child)
  rmSync(data, { recursive: true, force: true })
}
