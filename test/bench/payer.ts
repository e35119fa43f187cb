/**
 * `npm run bench -- payer [--members N] [--claims N] [--requests N] [--parts PART,…] [--data FOLDER]`: figures of a payer's server. Generates
 * members, each with a Patient and a Coverage, and measures in one run:
 * - `match`: `$member-match` beside a read by id and a search by identifier
 * - `bulk`: requests of 2,000 members
 * - `export`: exports of 10,000 matched members with the view of a partner, and without
 * - `packages`: a package of search parameters that is switched on, beside `$reindex`
 * With --data the folder remains, and a later run of other parts uses it. Without: 1,000,000 members and claims in a folder that is removed.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { otherProcesses } from './other-processes.ts'
import { agent, type BenchData, loadData, loadedData, type Row } from './payer/bench-server.ts'
import { exportRows } from './payer/exports.ts'
import { bulkRows, matchRows } from './payer/matches.ts'
import { packageRows } from './payer/packages.ts'
import { stopAll } from './served.ts'

const { values } = parseArgs({
  args: process.argv.slice(3),
  options: {
    members: { type: 'string', default: '1000000' },
    claims: { type: 'string' },
    requests: { type: 'string', default: '500' },
    parts: { type: 'string', default: 'match,bulk,export,packages' },
    data: { type: 'string' },
  },
})

/** Members of each exported Group of a whole run. */
const EXPORTED = 10_000

const scratch = mkdtempSync(join(tmpdir(), 'fhir-bench-'))
const data = values.data ?? join(scratch, 'data')

const PARTS: Readonly<Record<string, (amounts: BenchData) => Promise<readonly Row[]>>> = {
  match: (amounts) => matchRows(data, amounts),
  bulk: (amounts) => bulkRows(data, amounts, Number(values.requests)),
  export: (amounts) => exportRows(data, amounts),
  packages: (amounts) => packageRows(data, amounts),
}

/** Prints each part as soon as it is measured. */
async function print(part: string, measure: () => Promise<readonly Row[]>): Promise<void> {
  const others = otherProcesses()
  console.table(await measure())
  console.log(`${part}: other processes used ${others()} % of the processors`)
}

try {
  const members = Number(values.members)
  const wanted = { members, exported: Math.min(EXPORTED, Math.floor(members / 5)), claims: Number(values.claims ?? members) }
  if (loadedData(data) === undefined) await print('load', () => loadData(data, wanted))
  for (const part of values.parts.split(',')) {
    const measure = PARTS[part]
    if (measure === undefined) throw new Error(`${part} is no part: ${Object.keys(PARTS).join(', ')}`)
    await print(part, () => measure(loadedData(data)!))
  }
} finally {
  agent.destroy()
  await stopAll()
  rmSync(scratch, { recursive: true })
}
