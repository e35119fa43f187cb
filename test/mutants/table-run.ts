/**
 * Applies each mutant of table.txt to a private copy of the sources, runs its tests there, and fails where they pass:
 *   node test/mutants/table-run.ts [--tenth] [WORD…]
 * WORD: only rows whose file, text or tests contain one; --tenth: only a tenth, another one with each commit.
 */
import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { faultOf, type Mutant, mutated, nameOf, readMutants } from './rows.ts'

const NOT_COPIED = new Set(['node_modules', '.git', '.data', '.fhir', 'cdk.out', 'coverage'])
/** Milliseconds. A mutant may make a test wait for ever, or all tests of a file: where they pass without it, that is noticed. */
const PATIENCE = { test: 2 * 60_000, all: 10 * 60_000 }

type Outcome = 'passed' | 'failed' | 'not run'
type Report = { readonly numFailedTests: number; readonly numPassedTests: number; readonly numRuntimeErrorTestSuites: number }

process.exitCode = await main(process.argv.slice(2))

async function main(words: readonly string[]): Promise<number> {
  const mutants = chosen(readMutants(), words)
  const unmutated = new Map<string, Outcome>()
  const left = [...mutants]
  let wrong = 0
  const work = async (copy: string): Promise<void> => {
    for (let mutant = left.shift(); mutant !== undefined; mutant = left.shift()) {
      const fault = await survived(mutant, copy, unmutated)
      if (fault !== undefined) wrong++
      console.log(`${fault === undefined ? 'noticed ' : 'SURVIVED'} ${nameOf(mutant)}${fault === undefined ? '' : ` (${fault})`}`)
    }
  }
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), mutants.length) }, () => withCopy(work)))
  console.log(`${mutants.length} mutants, ${mutants.length - wrong} noticed, ${wrong} not`)
  return wrong === 0 && mutants.length > 0 ? 0 : 1
}

function chosen(mutants: readonly Mutant[], words: readonly string[]): readonly Mutant[] {
  if (!words.includes('--tenth')) {
    const isMeant = ({ file, text, tests }: Mutant) => words.some((word) => [file, text, ...tests].some((part) => part.includes(word)))
    return words.length === 0 ? mutants : mutants.filter(isMeant)
  }
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' })
  const tenth = Number.parseInt(commit.slice(0, 8), 16) % 10
  return mutants.filter((_, n) => n % 10 === tenth)
}

/** Why the tests cannot be said to have noticed it. Asked twice, for what some notice hangs on the pace of a machine; that is told. */
async function survived(mutant: Mutant, copy: string, unmutated: Map<string, Outcome>): Promise<string | undefined> {
  const fault = faultOf(mutant, copy)
  if (fault !== undefined) return fault
  const tests = mutant.tests.join(' ')
  if (!unmutated.has(tests)) unmutated.set(tests, await run(mutant.tests, copy))
  if (unmutated.get(tests) !== 'passed') return 'its tests fail without it'
  const path = join(copy, mutant.file)
  const source = readFileSync(path, 'utf8')
  writeFileSync(path, mutated(mutant, copy))
  try {
    const asked = () => run(mutant.tests, copy, ['--testTimeout', `${PATIENCE.test}`])
    const first = await asked()
    if (first === 'failed') return undefined
    const second = await asked()
    if (second !== 'failed') return `its tests: ${first}, ${second}`
    console.log(`the second time only: ${nameOf(mutant)}`)
    return undefined
  } finally {
    writeFileSync(path, source)
  }
}

/** As `npm test` runs them. A test has to fail: a suite that could not start says nothing. What the mutant keeps open is not waited for. */
async function run(tests: readonly string[], copy: string, more: readonly string[] = []): Promise<Outcome> {
  const report = join(copy, 'report.json')
  rmSync(report, { force: true })
  const { FHIR_TEST_FULL: _, NODE_OPTIONS: __, ...env } = process.env
  const jest = [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    'node_modules/jest/bin/jest.js',
    '--ci',
    '--forceExit',
  ]
  const output = ['--json', `--outputFile=${report}`, `--cacheDirectory=${join(copy, '.jest')}`, '--silent']
  const child = spawn(process.execPath, [...jest, ...output, ...more, '--runInBand', ...tests], {
    cwd: copy,
    env,
    stdio: 'ignore',
    detached: true,
  })
  let isEndless = false
  const timer = setTimeout(() => {
    isEndless = true
    process.kill(-child.pid!, 'SIGKILL')
  }, PATIENCE.all)
  await new Promise((resolve) => child.once('exit', resolve))
  clearTimeout(timer)
  const { numFailedTests, numPassedTests, numRuntimeErrorTestSuites } = readReport(report)
  if (numFailedTests > 0 || isEndless) return 'failed'
  return numRuntimeErrorTestSuites > 0 || numPassedTests === 0 ? 'not run' : 'passed'
}

function readReport(path: string): Report {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Report
  } catch {
    return { numFailedTests: 0, numPassedTests: 0, numRuntimeErrorTestSuites: 1 }
  }
}

async function withCopy(use: (copy: string) => Promise<void>): Promise<void> {
  const copy = mkdtempSync(join(tmpdir(), 'fhir-mutants-'))
  // Some tests run it as another user.
  chmodSync(copy, 0o755)
  try {
    for (const name of readdirSync('.')) if (!NOT_COPIED.has(name)) cpSync(name, join(copy, name), { recursive: true })
    symlinkSync(resolve('node_modules'), join(copy, 'node_modules'))
    await use(copy)
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}
