/**
 * `node test/bench/search-http.ts FOLDER`: searches over HTTP of a server loaded with FOLDER (Synthea Bundles), one after the other: for
 * each of sixteen shapes the median and the 95th percentile in milliseconds, the arguments taken at random from what was loaded; then 8 at
 * once, against a bare server (searches.ts).
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findSourceFiles } from '../../bin/load/file-reader.ts'
import { load } from '../../bin/load/load.ts'
import { averageComparison, compareSearches, ratiosOf, searchesOf } from './searches.ts'
import { sendRequest, startServer, stopAll } from './served.ts'
import { pick, SHAPES } from './shapes.ts'

const [folder = 'test/fixtures/sample', rounds = '200'] = process.argv.slice(2)
const data = mkdtempSync(join(tmpdir(), 'fhir-bench-'))
const PORT = 18_082
const base = `http://127.0.0.1:${PORT}/fhir`
const { child, authorize } = await startServer(PORT, data)
const agent = new Agent({ keepAlive: true, maxSockets: 1 })

const get = (query: string) => sendRequest(`${base}/${query}`, { agent, headers: { prefer: 'handling=strict' } })

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

try {
  const began = performance.now()
  const { resources, failures } = await load(findSourceFiles([folder]), {
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
      const startedAt = performance.now()
      const answer = await get(query)
      if (round >= 20) times.get(name)!.push(performance.now() - startedAt)
      found(answer, query)
    }
  for (const [name, all] of times) {
    all.sort((a, b) => a - b)
    const at = (share: number): string => all[Math.min(all.length - 1, Math.floor(all.length * share))]!.toFixed(1)
    console.log(`| ${name} | ${at(0.5)} | ${at(0.95)} | ${at(1)} |`)
  }
  const compared = await compareSearches({ base, child }, PORT + 1, patients)
  console.log('\n| search, 8 at once | bytes | of a bare server | by processor time | ms of the processors |\n|---|---|---|---|---|')
  for (const each of [...compared, { name: 'all', ...averageComparison(searchesOf(compared)) }])
    console.log(`| ${[each.name, Math.round(each.bytes), ...ratiosOf(each), each.server.processor.toFixed(2)].join(' | ')} |`)
} finally {
  agent.destroy()
  await stopAll()
  rmSync(data, { recursive: true, force: true })
}
