/**
 * The cloud on one machine, tested: node test/cloud/run.ts [PART…]
 *   api    the files of test/api tagged @cloud, on the stacks deployed on MiniStack
 *   here   the same on the bundled functions in processes of their own, behind a gateway with the limits of the real one; their calls are recorded
 *   rules  the tests of this folder: limits, faults of the stream, permissions of what `here` recorded
 *   figures  what goes into the README
 * Without a part: all, in this order.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { localSettings, synthesize } from './assembly.ts'
import { type Cloud, startCloud } from './cloud.ts'
import { printFigures } from './figures.ts'

const API = 'test/api'

const PARTS: Readonly<Record<string, (cloud: Cloud, folder: string) => Promise<boolean>>> = {
  api: (cloud) => jest(cloud, tagged(), {}),
  here: async (cloud, folder) => {
    const hasPassed = await jest(cloud, tagged(), { FHIR_FRESH_HERE: '1' })
    await cloud.fresh()
    writeFileSync(callsFile(folder), JSON.stringify(cloud.recorded()))
    return hasPassed
  },
  rules: (cloud, folder) => jest(cloud, ['test/cloud'], { FHIR_CLOUD_CALLS: callsFile(folder) }),
  figures: async (cloud) => {
    await printFigures(cloud)
    return true
  },
}

async function main(given: readonly string[]): Promise<number> {
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
      const hasPassed = await PARTS[part]!(cloud, folder)
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

const tagged = (): readonly string[] =>
  readdirSync(API)
    .map((name) => join(API, name))
    .filter((path) => /^\/\*\*(?:(?!\*\/).)*@cloud\b/s.test(readFileSync(path, 'utf8')))

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
