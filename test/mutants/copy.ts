/** A private copy of the repository, in which mutants are applied and tests run. */
import { spawn } from 'node:child_process'
import { chmodSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { COUNTS, type Counts } from './counts-reporter.ts'

const NOT_COPIED = new Set(['node_modules', '.git', '.data', '.fhir', 'cdk.out', 'coverage'])
/** Maximum time of tests without a mutant, in milliseconds. */
const LONGEST = 15 * 60_000
/** A mutant may make tests wait for ever. Tests have noticed it if they exceed this multiple of their time without it, plus the slack. */
const ENDLESS = { times: 5, slack: 60_000 }

/** `stopped`: the whole run is over. */
export type Outcome = 'passed' | 'failed' | 'not run' | 'stopped'

export class Copy {
  readonly #folder: string
  /** Runs without a mutant, by tests. */
  readonly #clean = new Map<string, { readonly outcome: Outcome; readonly milliseconds: number }>()

  private constructor(folder: string) {
    this.#folder = folder
  }

  static async use<Result>(work: (copy: Copy) => Promise<Result>): Promise<Result> {
    const folder = mkdtempSync(join(tmpdir(), 'fhir-mutants-'))
    // Some tests start the server as another user, which reads the copy.
    chmodSync(folder, 0o755)
    try {
      for (const name of readdirSync('.')) if (!NOT_COPIED.has(name)) cpSync(name, join(folder, name), { recursive: true })
      symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
      return await work(new Copy(folder))
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }

  /** Runs the tests without a mutant, once per list. `over`: ends the tests. */
  async clean(tests: readonly string[], over: AbortSignal): Promise<Outcome> {
    const key = tests.join(' ')
    const earlier = this.#clean.get(key)
    if (earlier !== undefined) return earlier.outcome
    const began = performance.now()
    const outcome = await this.#run(tests, LONGEST, over)
    if (outcome !== 'stopped') this.#clean.set(key, { outcome, milliseconds: performance.now() - began })
    return outcome
  }

  /** Runs the tests while `file` has the text `mutated`. They must have run without it. */
  async mutated(file: string, mutated: string, tests: readonly string[], over: AbortSignal): Promise<Outcome> {
    const { milliseconds } = this.#clean.get(tests.join(' '))!
    const path = join(this.#folder, file)
    const source = readFileSync(path, 'utf8')
    writeFileSync(path, mutated)
    try {
      return await this.#run(tests, ENDLESS.times * milliseconds + ENDLESS.slack, over)
    } finally {
      writeFileSync(path, source)
    }
  }

  /** Runs tests as `npm test` does. `failed` needs a failed test, because a suite that cannot start proves nothing. */
  async #run(tests: readonly string[], longest: number, over: AbortSignal): Promise<Outcome> {
    if (over.aborted) return 'stopped'
    const counts = join(this.#folder, COUNTS)
    rmSync(counts, { force: true })
    const { FHIR_TEST_FULL: _, NODE_OPTIONS: __, ...env } = process.env
    const jest = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js']
    const output = ['--reporters=./test/mutants/counts-reporter.ts', `--cacheDirectory=${join(this.#folder, '.jest')}`, '--silent']
    // A mutant may leave something open that keeps the process alive.
    const how = ['--ci', '--forceExit', '--bail', '--runInBand', '--testTimeout', `${longest}`]
    const child = spawn(process.execPath, [...jest, ...output, ...how, ...tests], {
      cwd: this.#folder,
      env,
      stdio: 'ignore',
      detached: true,
    })
    let isLate = false
    const kill = (): void => void process.kill(-child.pid!, 'SIGKILL')
    const timer = setTimeout(() => {
      isLate = true
      kill()
    }, longest)
    over.addEventListener('abort', kill)
    await new Promise((done) => child.once('exit', done))
    over.removeEventListener('abort', kill)
    clearTimeout(timer)
    if (over.aborted) return 'stopped'
    if (isLate) return 'failed'
    return outcomeOf(readCounts(counts))
  }
}

function outcomeOf({ numFailedTests, numPassedTests, numRuntimeErrorTestSuites }: Counts): Outcome {
  if (numFailedTests > 0) return 'failed'
  return numRuntimeErrorTestSuites > 0 || numPassedTests === 0 ? 'not run' : 'passed'
}

function readCounts(path: string): Counts {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Counts
  } catch {
    return { numFailedTests: 0, numPassedTests: 0, numRuntimeErrorTestSuites: 1 }
  }
}
