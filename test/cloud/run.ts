/**
 * The cloud on one machine, tested: node test/cloud/run.ts [PART…] [FILE…]
 *   api    the files of test/api tagged @cloud, on the stacks deployed on MiniStack
 *   here   the same, with those tagged @cloud:here, on the bundled functions in processes of their own, behind a gateway with the limits of
 *          the real one; their calls are recorded
 *   rules  the tests of this folder: limits, faults of the stream, permissions of what `here` recorded
 *   figures  what goes into lib/README.md
 * Without a part: all but figures, in this order. Files: instead of all that the parts test, by those that can.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tokensOf } from '../fixtures/given-tokens.ts'
import { localSettings, synthesize } from './assembly.ts'
import { type Cloud, startCloud } from './cloud.ts'
import { printFigures } from './figures.ts'
import { stoppedBySignal } from './stopped.ts'
import { workHere } from './workers.ts'

const API = 'test/api'
const RULES = 'test/cloud'
const US_CORE = 'test/us-core'
/** Milliseconds of a test: what hangs ends, and a machine that others use too is only slow. */
const PATIENCE = 180_000

/** `takes`: whether it can test that file. `files`: those of them jest is given instead of all; undefined: all. */
type Part = {
  readonly takes: (path: string) => boolean
  readonly run: (cloud: Cloud, folder: string, files: readonly string[] | undefined) => Promise<boolean>
}

const isOfApi = (path: string): boolean => path.startsWith(`${API}/`)

const PARTS: Readonly<Record<string, Part>> = {
  api: { takes: isOfApi, run: (cloud, _, files = tagged([API], /@cloud\b(?!:)/)) => jest(cloud, files, {}) },
  here: {
    takes: (path) => isOfApi(path) || isTagged(path, /@cloud\b/),
    async run(cloud, folder, files) {
      const hasPassed = await jest(cloud, files ?? tagged([API, US_CORE, RULES], /@cloud\b/), { FHIR_FRESH_HERE: '1' })
      if (files === undefined) await recordAll(cloud, folder)
      else await cloud.fresh()
      // A 500 says nothing to its client: what failed is told here.
      if (!hasPassed) for (const line of cloud.errors()) console.log(line)
      return hasPassed
    },
  },
  rules: {
    takes: isRule,
    run: (cloud, folder, files = filesOf(RULES).filter(isRule)) =>
      jest(cloud, files, existsSync(callsFile(folder)) ? { FHIR_CLOUD_CALLS: callsFile(folder) } : {}),
  },
  figures: {
    takes: () => false,
    async run(cloud) {
      await printFigures(cloud)
      return true
    },
  },
}

/** The parts that can fail. */
const TESTING = ['api', 'here', 'rules']

/** The calls of all functions, also of those that nobody asks by HTTP. */
async function recordAll(cloud: Cloud, folder: string): Promise<void> {
  const home = (await cloud.fresh({ here: true, settings: { FHIR_EXPORT_NEEDS_ASSERTION: 'off' } }))!
  await workHere(cloud.aws, home, cloud.baseUrl, await tokensOf(cloud.baseUrl, cloud.administrator()!)())
  await cloud.fresh()
  writeFileSync(callsFile(folder), JSON.stringify(cloud.recorded()))
}

async function main(words: readonly string[]): Promise<number> {
  const [files, given] = [words.filter((word) => word.includes('/')), words.filter((word) => !word.includes('/'))]
  const unknown = given.filter((part) => !Object.hasOwn(PARTS, part))
  if (unknown.length > 0) {
    console.error(`Unknown: ${unknown.join(', ')}; parts: ${Object.keys(PARTS).join(', ')}`)
    return 2
  }
  const all = given.length === 0 ? TESTING : given
  const parts = all.filter((part) => files.length === 0 || files.some(PARTS[part]!.takes))
  const left = files.filter((path) => !parts.some((part) => PARTS[part]!.takes(path)))
  if (left.length > 0) {
    console.error(`Tested by none of ${all.join(', ')}: ${left.join(', ')}`)
    return 2
  }
  const folder = mkdtempSync(join(tmpdir(), 'fhir-cloud-'))
  let cloud: Cloud | undefined
  let hasFailed = false
  try {
    cloud = await startCloud({
      stopped,
      synthesize: (addresses) => synthesize({ folder, settings: localSettings(addresses) }),
      report: (line) => console.log(line),
    })
    for (const part of parts) {
      const [before, since] = [cloud.front.answered(), performance.now()]
      const { takes, run } = PARTS[part]!
      const hasPassed = await run(cloud, folder, files.length === 0 ? undefined : files.filter(takes))
      stopped.throwIfAborted()
      const seconds = Math.round((performance.now() - since) / 1_000)
      console.log(`\n=== ${part}: ${hasPassed ? 'passed' : 'failed'}, ${cloud.front.answered() - before} requests, ${seconds} s\n`)
      hasFailed ||= !hasPassed
    }
    return hasFailed ? 1 : 0
  } catch (error) {
    console.error(error)
    return 1
  } finally {
    await cloud?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
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

/** One file after the other: each has the deployment for itself. */
function jest(cloud: Cloud, paths: readonly string[], environment: Readonly<Record<string, string>>): Promise<boolean> {
  const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js']
  const child = spawn(process.execPath, [...flags, '--runInBand', `--testTimeout=${PATIENCE}`, ...paths], {
    env: { ...process.env, FHIR_BASE_URL: cloud.baseUrl, FHIR_FRESH_URL: cloud.freshUrl, ...environment },
    stdio: 'inherit',
    signal: stopped,
  })
  // Also when it is ended it has exited before what it used is.
  return new Promise((resolve, reject) => {
    child.once('error', (error) => (stopped.aborted ? undefined : reject(error))).once('exit', (code) => resolve(code === 0))
  })
}

const stopped = stoppedBySignal()
process.exitCode = await main(process.argv.slice(2))
