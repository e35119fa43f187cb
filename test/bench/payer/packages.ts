/** CARIN Blue Button 2.2 is switched on while claims are stored: searches meanwhile, and the time of the build beside that of `$reindex`. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import { createGzip } from 'node:zlib'
import { pack } from 'tar-stream'
import type { StartedServer } from '../served.ts'
import {
  type BenchData,
  expectStatus,
  percentile,
  processorTime,
  type Row,
  sizeOf,
  untilSearchable,
  untilStatus,
  withServer,
} from './bench-server.ts'
import { patientIdOf } from './members.ts'

const TYPE = 'ExplanationOfBenefit'
const PACKAGE = 'hl7.fhir.us.carin-bb@2.2.0'
/** Milliseconds of searches without a rebuild, and between two searches. */
const [ALONE, BETWEEN] = [5_000, 5]

type Searches = { readonly waits: readonly number[] }
type Build = Searches & { readonly wall: number; readonly processor: number }

export const packageRows = (data: string, amounts: BenchData): Promise<readonly Row[]> =>
  withServer(data, async (running) => {
    const archive = `${data}.package.tgz`
    writeFileSync(archive, await packedGuide())
    await untilSearchable()
    const before = sizeOf(data, 'index')
    const alone = await besideSearches(amounts, () => wait(ALONE))
    const reindex = await measure(running, amounts, async () => {
      await expectStatus(202, `$reindex?type=${TYPE}`, { method: 'POST' })
      await untilStatus({ hasNot: '"rebuild"' })
    })
    const size = sizeOf(data, 'index')
    const added = await measure(running, amounts, async () => {
      await fhir(data, 'add', archive)
      await untilStatus({ has: 'carin-bb', hasNot: '"rebuild"' })
      await expectStatus(200, `${TYPE}?service-date=gt2000&_count=1`)
    })
    const withPackage = sizeOf(data, 'index')
    await fhir(data, 'remove', PACKAGE)
    rmSync(archive)
    const described = ({ waits }: Searches): string =>
      `p50 ${percentile(waits, 0.5).toFixed(1)} ms, p99 ${percentile(waits, 0.99).toFixed(1)} ms of ${waits.length} searches, none failed`
    return [
      { measured: 'searches of claims, no rebuild', figure: described(alone) },
      { measured: `$reindex of ${TYPE}`, figure: costOf(reindex), 'compared with': described(reindex) },
      {
        measured: 'CARIN 2.2 switched on',
        figure: costOf(added),
        bound: '≤ 1.2 × $reindex; no search fails',
        'compared with': `${(added.wall / reindex.wall).toFixed(2)} of $reindex by the clock, ${(added.processor / reindex.processor).toFixed(2)} by processor time; ${described(added)}`,
      },
      {
        measured: 'size of the index, with the package',
        figure: `${withPackage.toFixed(0)} MB`,
        'compared with': `${size.toFixed(0)} MB after $reindex, ${before.toFixed(0)} MB before`,
      },
    ]
  })

/** Returns the archive of the package: its search parameters and its ImplementationGuide. */
async function packedGuide(): Promise<Buffer> {
  const guides = readFileSync('test/fixtures/payer/guides.ndjson', 'utf8').trim().split('\n')
  const { manifest, resources } = guides
    .map((line) => JSON.parse(line))
    .find((each) => PACKAGE === `${each.manifest.name}@${each.manifest.version}`)
  const archive = pack()
  archive.entry({ name: 'package/package.json' }, JSON.stringify(manifest))
  for (const each of resources) archive.entry({ name: `package/${each.resourceType}-${each.id}.json` }, JSON.stringify(each))
  archive.finalize()
  return buffer(archive.pipe(createGzip()))
}

const costOf = ({ wall, processor }: Build): string =>
  `${(wall / 1_000).toFixed(1)} s, ${(processor / 1_000).toFixed(1)} s of processor time`

async function measure(running: StartedServer, amounts: BenchData, build: () => Promise<void>): Promise<Build> {
  const [began, used] = [performance.now(), processorTime(running)]
  const searches = await besideSearches(amounts, build)
  return { ...searches, wall: performance.now() - began, processor: processorTime(running) - used }
}

/** Does the work while searches run one after the other. Throws Error if a search fails. */
async function besideSearches({ members, exported }: BenchData, work: () => Promise<unknown>): Promise<Searches> {
  const waits: number[] = []
  let isOver = false
  const searching = (async () => {
    for (let n = 0; !isOver; n++) {
      const began = performance.now()
      await expectStatus(200, `${TYPE}?patient=${patientIdOf(2 * exported + ((n * 7_919) % (members - 2 * exported)))}`)
      waits.push(performance.now() - began)
      await wait(BETWEEN)
    }
  })()
  await work().finally(() => {
    isOver = true
  })
  await searching
  return { waits }
}

/** Runs `fhir package` on the data folder. */
async function fhir(data: string, ...args: readonly string[]): Promise<void> {
  const [exit] = await once(
    spawn(process.execPath, ['bin/fhir.js', 'package', ...args, '--data', data], { stdio: ['ignore', 'ignore', 'inherit'] }),
    'exit',
  )
  if (exit !== 0) throw new Error(`fhir package ${args[0]} failed`)
}
