/**
 * The cloud on one machine, tested: node test/cloud/run.ts [PART…] [FILE…]
 *   api    the files of test/api tagged @cloud, on the stacks deployed on MiniStack
 *   here   the same, with those tagged @cloud:here, on the bundled functions in processes of their own, behind a gateway with the limits of
 *          the real one; their calls are recorded
 *   rules  the tests of this folder: limits, faults of the stream, permissions of what `here` recorded
 *   figures  the figures of lib/docs/cost.md
 * Without a part: all but figures, in this order, each whatever became of those before it. Files: instead of all that the parts test, by those
 * that can. Where there is memory for it two deployments are worked at side by side.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { tokenProviderOf } from '../fixtures/token-provider.ts'
import { synthesizerIn } from './assembly.ts'
import { type Cloud, startCloud } from './cloud.ts'
import { printFigures } from './figures.ts'
import { stopOnSignal } from './stop-signal.ts'
import { runParts, type TestPart } from './test-parts.ts'
import { runWorkers } from './workers.ts'

const API = 'test/api'
const RULES = 'test/cloud'
const US_CORE = 'test/us-core'
/** Milliseconds of a test: what hangs ends, and a machine that others use too is only slow. */
const PATIENCE = 180_000
const LANE = join(import.meta.dirname, 'lane.ts')
/** Bytes. Of a deployment: an OpenSearch, and a process for each function that was called. */
const MIN_MEMORY_FOR_TWO = 8 * 2 ** 30

const words = process.argv.slice(2)
/** Figures are of a machine that does nothing else; one file has need of one. */
const isAlone = words.includes('figures') || words.filter((word) => word.includes('/')).length === 1

/** `folder`: of this run. */
type World = { readonly clouds: readonly Cloud[]; readonly folder: string }

const isApiTest = (path: string): boolean => path.startsWith(`${API}/`)

const PARTS: Readonly<Record<string, TestPart<World>>> = {
  api: { takes: isApiTest, run: ({ clouds }, files = tagged([API], /@cloud\b(?!:)/)) => jest(clouds, files, {}) },
  here: {
    takes: (path) => isApiTest(path) || isTagged(path, /@cloud\b/),
    async run({ clouds, folder }, files) {
      const hasPassed = await jest(clouds, files ?? tagged([API, US_CORE, RULES], /@cloud\b/), { FHIR_FRESH_HERE: '1' })
      if (files === undefined) await recordAll(clouds, folder)
      else await Promise.all(clouds.map((cloud) => cloud.fresh()))
      // A 500 says nothing to its client: what failed is told here.
      if (!hasPassed) for (const line of clouds.flatMap((cloud) => cloud.errors())) console.log(line)
      return hasPassed
    },
  },
  rules: {
    takes: isRule,
    run: ({ clouds, folder }, files = filesOf(RULES).filter(isRule)) =>
      jest(clouds, files, existsSync(callsFile(folder)) ? { FHIR_CLOUD_CALLS: callsFile(folder) } : {}),
  },
  figures: {
    takes: () => false,
    async run({ clouds }) {
      await printFigures(clouds[0]!)
      return true
    },
  },
}

/** The parts that can fail. */
const TESTING = ['api', 'here', 'rules']

/** The calls of all functions, also of those that nobody asks by HTTP. */
async function recordAll(clouds: readonly Cloud[], folder: string): Promise<void> {
  const [cloud, ...others] = clouds as readonly [Cloud, ...Cloud[]]
  const world = (await cloud.fresh({ here: true, settings: { FHIR_EXPORT_NEEDS_ASSERTION: 'off' } }))!
  await runWorkers(cloud.aws, world, cloud.baseUrl, await tokenProviderOf(cloud.baseUrl, cloud.administrator()!)())
  await Promise.all([cloud, ...others].map((each) => each.fresh()))
  writeFileSync(callsFile(folder), JSON.stringify(clouds.flatMap((each) => each.recorded())))
}

async function open() {
  const folder = mkdtempSync(join(tmpdir(), 'fhir-cloud-'))
  const synthesize = synthesizerIn(folder)
  const starting = lanes().map((report) => startCloud({ stopped, synthesize, report }))
  const started = await Promise.allSettled(starting)
  const clouds = started.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  const close = async (): Promise<void> => {
    await Promise.all(clouds.map((cloud) => cloud.stop()))
    rmSync(folder, { recursive: true, force: true })
  }
  if (clouds.length < started.length) await close()
  await Promise.all(starting)
  return { clouds, folder, close }
}

/** How many deployments are worked at side by side, where there is room for them, and what each tells. */
function lanes(): readonly ((line: string) => void)[] {
  const log = (line: string) => console.log(line)
  return isAlone || freemem() < MIN_MEMORY_FOR_TWO || availableParallelism() < 2 ? [log] : [log, () => {}]
}

const callsFile = (folder: string): string => join(folder, 'calls.json')

/** `@cloud:here` is too much for the stand-in, or asks it what another file does. */
const tagged = (folders: readonly string[], tag: RegExp): readonly string[] =>
  folders.flatMap(filesOf).filter((path) => isTagged(path, tag))

const filesOf = (folder: string): readonly string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join(folder, name))

function isRule(path: string): boolean {
  return path.startsWith(`${RULES}/`) && !isTagged(path, /@cloud\b/)
}

/** In its first comment. */
const isTagged = (path: string, tag: RegExp): boolean => tag.test(/^\/\*\*.*?\*\//s.exec(readFileSync(path, 'utf8'))?.[0] ?? '')

/** In each deployment one file after the other, which has it for itself. */
function jest(clouds: readonly Cloud[], paths: readonly string[], environment: Readonly<Record<string, string>>): Promise<boolean> {
  const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js']
  // With a memory limit Jest starts the workers even if it expects short tests, as after `npm test`, which skips them.
  const workers = clouds.length === 1 ? ['--runInBand'] : [`--maxWorkers=${clouds.length}`, '--workerIdleMemoryLimit=4GB']
  const environments = clouds.map(({ baseUrl, freshUrl }) => ({ FHIR_BASE_URL: baseUrl, FHIR_FRESH_URL: freshUrl }))
  const child = spawn(process.execPath, [...flags, ...workers, `--setupFiles=${LANE}`, `--testTimeout=${PATIENCE}`, ...paths], {
    env: { ...process.env, FHIR_LANES: JSON.stringify(environments), ...environment },
    stdio: 'inherit',
    signal: stopped,
  })
  // Also when it is ended it has exited before what it used is.
  return new Promise((resolve, reject) => {
    child.once('error', (error) => (stopped.aborted ? undefined : reject(error))).once('exit', (code) => resolve(code === 0))
  })
}

const stopped = stopOnSignal()
process.exitCode = await runParts(words, {
  ...{ parts: PARTS, usual: TESTING, open, stopped },
  answered: ({ clouds }) => clouds.reduce((sum, { front }) => sum + front.answered(), 0),
  report: (line) => console.log(line),
  fail: (error) => console.error(error),
})
