/**
 * The cloud on one machine, tested: node test/cloud/run.ts [PART…] [FILE…]
 *   api    the files of test/api tagged @cloud, on the stacks deployed on MiniStack
 *   here   the same on the bundled functions in processes of their own, behind a gateway with the limits of the real one; their calls are recorded
 *   rules  the tests of this folder: limits, faults of the stream, permissions of what `here` recorded
 *   figures  what goes into lib/README.md
 * Without a part: all, in this order. Files: instead of those a part tests.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { localSettings, synthesize } from './assembly.ts'
import { type Cloud, startCloud } from './cloud.ts'
import { printFigures } from './figures.ts'
import { workHere } from './workers.ts'

const API = 'test/api'
const RULES = 'test/cloud'

/** Of a folder; undefined: none is. */
function chosen(files: readonly string[], folder: string): readonly string[] | undefined {
  const found = files.filter((file) => file.startsWith(`${folder}/`))
  return found.length === 0 ? undefined : found
}

/** `files`: those jest is given instead of the part's own. */
type Part = (cloud: Cloud, folder: string, files: readonly string[]) => Promise<boolean>

const PARTS: Readonly<Record<string, Part>> = {
  api: (cloud, _, files) => jest(cloud, chosen(files, API) ?? tagged(/@cloud\b(?!:)/), {}),
  here: async (cloud, folder, files) => {
    const hasPassed = await jest(cloud, chosen(files, API) ?? tagged(/@cloud\b/), { FHIR_FRESH_HERE: '1' })
    await workHere(cloud.aws, (await cloud.fresh({ here: true }))!, cloud.baseUrl)
    await cloud.fresh()
    // A 500 says nothing to its client: what failed is told here.
    if (!hasPassed) for (const line of cloud.errors()) console.log(line)
    writeFileSync(callsFile(folder), JSON.stringify(cloud.recorded()))
    return hasPassed
  },
  rules: (cloud, folder, files) => {
    const recorded = existsSync(callsFile(folder)) ? { FHIR_CLOUD_CALLS: callsFile(folder) } : {}
    return jest(cloud, chosen(files, RULES) ?? [RULES], recorded)
  },
  figures: async (cloud) => {
    await printFigures(cloud)
    return true
  },
}

async function main(words: readonly string[]): Promise<number> {
  const [files, given] = [words.filter((word) => word.includes('/')), words.filter((word) => !word.includes('/'))]
  const unknown = given.filter((part) => !Object.hasOwn(PARTS, part))
  if (unknown.length > 0) {
    console.error(`Unknown: ${unknown.join(', ')}; parts: ${Object.keys(PARTS).join(', ')}`)
    return 2
  }
  const folder = mkdtempSync(join(tmpdir(), 'fhir-cloud-'))
  const stopped = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopped.abort())
  let cloud: Cloud | undefined
  try {
    cloud = await startCloud({
      synthesize: (addresses) => synthesize({ folder, settings: localSettings(addresses) }),
      report: (line) => console.log(line),
    })
    for (const part of given.length === 0 ? Object.keys(PARTS) : given) {
      if (stopped.signal.aborted) return 1
      const [before, since] = [cloud.front.answered(), performance.now()]
      const hasPassed = await PARTS[part]!(cloud, folder, files)
      const seconds = Math.round((performance.now() - since) / 1_000)
      console.log(`\n=== ${part}: ${hasPassed ? 'passed' : 'failed'}, ${cloud.front.answered() - before} requests, ${seconds} s\n`)
      if (!hasPassed) return 1
    }
    return 0
  } catch (error) {
    console.error(error)
    return 1
  } finally {
    await cloud?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

const callsFile = (folder: string): string => join(folder, 'calls.json')

/** By the tag in the first comment. `@cloud:here` is too much for the stand-in. */
const tagged = (tag: RegExp): readonly string[] =>
  readdirSync(API)
    .map((name) => join(API, name))
    .filter((path) => tag.test(/^\/\*\*.*?\*\//s.exec(readFileSync(path, 'utf8'))?.[0] ?? ''))

/** One file after the other: each has the deployment for itself. */
function jest(cloud: Cloud, paths: readonly string[], environment: Readonly<Record<string, string>>): Promise<boolean> {
  const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js']
  const child = spawn(process.execPath, [...flags, '--runInBand', ...paths], {
    env: { ...process.env, FHIR_BASE_URL: cloud.baseUrl, FHIR_FRESH_URL: cloud.freshUrl, ...environment },
    stdio: 'inherit',
  })
  return new Promise((resolve, reject) => child.once('error', reject).once('exit', (code) => resolve(code === 0)))
}

process.exitCode = await main(process.argv.slice(2))
