/**
 * Runs the tests that take too long for every change: node test/night.ts [--minutes N] [PART…]
 * Without a PART it runs all of them. With --minutes it starts at a command that the commit chooses, ends after that many minutes, and names
 * the commands that it did not finish. It fails if a command failed or a signal ended it.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { endOfRun } from './fixtures/end-of-run.ts'

type Part = { readonly reason: string; readonly commands: readonly string[] }

const testFiles = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts'))
  .map((path) => join('test', path))
/** Patterns for the files of each folder, and for those of test itself. */
const paths = [
  ...new Set(testFiles.map((path) => (path.split('/').length > 2 ? `test/${path.split('/')[1]}/` : "'test/[^/]*[.]test'"))),
].sort()
const withLoops = testFiles.filter((path) =>
  /\b(?:isFullRun|caseCountOf|caseStepOf)\b.*\/long-runs\.ts'|search-index\.contract/.test(readFileSync(path, 'utf8')),
)

const commit = execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim()
const chosen = Number.parseInt(commit.slice(0, 8), 16)
const seed = chosen % 1_000_000
const TENTHS = Array.from({ length: 10 }, (_, k) => `${k + 1}/10`)

/** Tests of the deployed stacks and of OpenSearch skip themselves without a deployment, and without an engine. */
function commandOf(path: string): string {
  if (path.startsWith('test/cloud/')) return `env FHIR_TEST_FULL=1 npm run test:cloud -- ${path}`
  const beside = path.startsWith('test/adapters/opensearch/') ? 'node test/engines/run.ts opensearch-pair -- ' : ''
  return `${beside}npm run test:full -- ${path}`
}

const PARTS: Readonly<Record<string, Part>> = {
  loops: {
    reason: 'Each change runs a tenth of the cases of these loops (npm run test:long).',
    commands: withLoops.map(commandOf),
  },
  judge: {
    reason: 'The stored verdicts depend on the cases and on the validator, not on the sources of the server.',
    commands: ['npm run test:full -- test/judge/again'],
  },
  order: {
    reason: 'A random order shows tests that depend on one another. Each change runs them in the order of the files.',
    commands: paths.map((path) => `npm test -- --randomize --seed=${seed} ${path}`),
  },
  guards: {
    reason: 'Each change runs the guards of the files that it touches.',
    commands: TENTHS.map((tenth) => `npm run mutants -- --kept --part ${tenth}`),
  },
  mutants: {
    reason: 'Each change runs the mutants of its own lines. The commit chooses a tenth of the source files.',
    commands: [`npm run mutants -- --sample ${TENTHS[chosen % 10]} --most 300 --minutes 30`],
  },
  stacks: {
    reason: 'This lane repeats on the deployed stacks the api tests that each change runs on the bundled functions.',
    commands: ['npm run test:cloud -- api'],
  },
  bench: {
    reason: 'Figures need a machine that runs nothing else.',
    commands: ['', ' worst', ' auth', ' export', ' profiles', ' payer --members 20000'].map((name) => `npm run bench --${name}`),
  },
}

const options = readArguments()
if (options === undefined) console.error(`Usage: node test/night.ts [--minutes N] [PART…]; parts: ${Object.keys(PARTS).join(', ')}`)
process.exitCode = options === undefined ? 2 : await main(options)

type Options = { readonly names: readonly string[]; readonly minutes: number | undefined }

/** Returns undefined for arguments without a meaning. */
function readArguments(): Options | undefined {
  try {
    const { values, positionals } = parseArgs({ options: { minutes: { type: 'string' } }, allowPositionals: true })
    const { minutes } = values
    if (!positionals.every((name) => Object.hasOwn(PARTS, name)) || (minutes !== undefined && !/^\d+$/.test(minutes))) return undefined
    return { names: positionals, minutes: minutes === undefined ? undefined : Number(minutes) }
  } catch {
    return undefined
  }
}

async function main({ names, minutes }: Options): Promise<number> {
  const parts = Object.entries(PARTS).filter(([name]) => names.length === 0 || names.includes(name))
  for (const [name, { reason }] of parts) console.log(`${name}: ${reason}`)
  const all = parts.flatMap(([, { commands }]) => commands)
  const first = minutes === undefined ? 0 : chosen % all.length
  const commands = [...all.slice(first), ...all.slice(0, first)]
  const { interrupted, over } = endOfRun(minutes)
  const failed: string[] = []
  let done = 0
  for (const command of commands) {
    if (over.aborted) break
    const started = performance.now()
    console.log(`\n--- ${command}`)
    const result = await run(command, over)
    console.log(`--- ${result} after ${Math.round((performance.now() - started) / 1_000)} s: ${command}`)
    if (result === 'not finished') break
    done++
    if (result === 'failed') failed.push(command)
  }
  if (done < commands.length) console.log(`\nNot finished:\n${commands.slice(done).join('\n')}`)
  console.log(`\n${commit.slice(0, 7)} of ${new Date().toISOString()}: ${done} commands of ${commands.length}, ${failed.length} failed`)
  for (const command of failed) console.log(`failed: ${command}`)
  return failed.length === 0 && !interrupted.aborted ? 0 : 1
}

/** Runs a command in a process group of its own, which is ended when `over` aborts. */
async function run(command: string, over: AbortSignal): Promise<'passed' | 'failed' | 'not finished'> {
  const child = spawn('sh', ['-c', `exec ${command}`], { stdio: 'inherit', detached: true })
  const stop = (): void => void process.kill(-child.pid!, 'SIGTERM')
  over.addEventListener('abort', stop)
  const [code] = await once(child, 'exit')
  over.removeEventListener('abort', stop)
  return code === 0 ? 'passed' : over.aborted ? 'not finished' : 'failed'
}
