/**
 * Applies mutants to a private copy of the sources, runs their tests there, and names those that no test notices:
 *   node test/mutants/run.ts [--diff [BASE]] [--strict]     generated mutants on changed lines, and the kept guards of changed files
 *   node test/mutants/run.ts --kept [--part K/N] [WORD…]    kept guards, or those with a WORD in name, file or tests
 *   node test/mutants/run.ts --sample K/N [--strict]        generated mutants on one part of the source files
 * --most N: at most N generated mutants (60). --minutes N: stop after N minutes (5; kept guards: no limit). What did not run is named.
 * Exits 1 if a kept guard survives; with --strict also if a generated mutant survives.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { endOfRun } from '../fixtures/end-of-run.ts'
import { baseOf, changedSince, commit } from './changed-lines.ts'
import { isIn, type Part, spread } from './choice.ts'
import { Copy } from './copy.ts'
import { keptMutants, sourceFiles } from './guards.ts'
import { applySplice, type Mutant, mutantsOf } from './mutants.ts'
import { type Options, optionsOf } from './options.ts'
import { RelatedTests, readImports } from './related-tests.ts'

/** `stages`: lists of tests, run one after the other until one notices. `guard`: its name, for a kept mutant. */
type Trial = { readonly mutant: Mutant; readonly stages: readonly (readonly string[])[]; readonly guard?: string }
type Verdict = 'noticed' | 'SURVIVED' | 'not run'
type Plan = { readonly trials: readonly Trial[]; readonly leftOut: readonly Trial[] }

const options = readOptions()
const { interrupted, over } = endOfRun(options.minutes)

async function main(): Promise<number> {
  const began = performance.now()
  const { isStrict } = options
  const plan = makePlan()
  const counts: Record<Verdict, number> = { noticed: 0, SURVIVED: 0, 'not run': 0 }
  let isWrong = false
  const report = ({ mutant, guard }: Trial, verdict: Verdict, why = ''): void => {
    counts[verdict]++
    isWrong ||= verdict === 'SURVIVED' && (guard !== undefined || isStrict)
    console.log(`${verdict} ${guard === undefined ? '' : `guard ${guard}: `}${nameOf(mutant)}${why}`)
  }
  const left = [...plan.trials]
  const work = async (copy: Copy): Promise<void> => {
    for (let trial = left.shift(); trial !== undefined; trial = left.shift()) report(trial, ...(await verdictOn(trial, copy, over)))
  }
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), left.length) }, () => Copy.use(work)))
  for (const trial of plan.leftOut) report(trial, 'not run')
  const seconds = Math.round((performance.now() - began) / 1000)
  console.log(`${counts.noticed} noticed, ${counts.SURVIVED} survived, ${counts['not run']} not run, in ${seconds} s`)
  return isWrong || interrupted.aborted ? 1 : 0
}

function makePlan(): Plan {
  if (options.mode === 'kept') return { trials: keptTrials(options.words, options.part), leftOut: [] }
  if (options.mode === 'sample') {
    const { part } = options
    const files = sourceFiles().filter((file) => isIn(file, part))
    return generatedTrials(files.flatMap(everyMutantOf))
  }
  const base = baseOf(options.base)
  const changed = changedSince(base)
  console.log(`${changed.size} source files changed since ${base}`)
  const generated = generatedTrials([...changed].flatMap(([file, lines]) => everyMutantOf(file).filter(({ line }) => lines.has(line))))
  const kept = keptTrials().filter(({ mutant }) => changed.has(mutant.file))
  return { trials: [...kept, ...generated.trials], leftOut: generated.leftOut }
}

function keptTrials(words: readonly string[] = [], part?: Part): readonly Trial[] {
  const guards = keptMutants().filter(
    ({ name, mutant, tests }) =>
      words.length === 0 || words.some((word) => [name, mutant.file, ...tests].some((text) => text.includes(word))),
  )
  if (guards.length === 0) throw new Error(`No guard has ${words.join(' or ')} in its name, file or tests`)
  return guards
    .filter(({ name }) => part === undefined || isIn(name, part))
    .map(({ name, mutant, tests }) => ({ mutant, stages: [tests], guard: name }))
}

function generatedTrials(mutants: readonly Mutant[]): Pick<Plan, 'trials' | 'leftOut'> {
  if (mutants.length === 0) return { trials: [], leftOut: [] }
  const { most } = options
  const guards = Map.groupBy(keptMutants(), ({ mutant }) => mutant.file)
  const guarding = new Map([...guards].map(([file, each]) => [file, each.flatMap(({ tests }) => tests)]))
  const related = new RelatedTests(readImports(), shortTests(), guarding)
  const trials = spread(mutants, commit()).map((mutant) => ({ mutant, stages: related.of(mutant.file) }))
  return { trials: trials.slice(0, most), leftOut: trials.slice(most) }
}

/** Returns the files of `npm test`, which leaves out long ones. Files of the cloud need a deployment. */
function shortTests(): ReadonlySet<string> {
  const list = execFileSync('npm', ['test', '--silent', '--', '--listTests', '--json'], {
    encoding: 'utf8',
    env: { ...process.env, FHIR_TEST_FULL: undefined },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const root = `${process.cwd()}/`
  return new Set(
    (JSON.parse(list.slice(list.indexOf('['))) as string[])
      .map((path) => path.replace(root, ''))
      .filter((path) => !path.startsWith('test/cloud/')),
  )
}

const everyMutantOf = (file: string): readonly Mutant[] => mutantsOf(file, readFileSync(file, 'utf8'))

async function verdictOn({ mutant, stages, guard }: Trial, copy: Copy, over: AbortSignal): Promise<[Verdict, string?]> {
  const changed = applySplice(mutant, readFileSync(mutant.file, 'utf8'))
  for (const tests of stages) {
    const clean = await copy.clean(tests, over)
    if (clean === 'stopped') return ['not run']
    // Tests that fail anyway prove nothing about the mutant.
    if (clean !== 'passed') return ['SURVIVED', ` (without the mutant: ${clean}: ${tests.join(' ')})`]
    const outcome = await copy.mutated(mutant.file, changed, tests, over)
    if (outcome === 'stopped') return ['not run']
    // A mutant may keep a suite from starting. A kept guard needs a test that fails.
    if (outcome === 'failed' || (outcome === 'not run' && guard === undefined)) return ['noticed']
  }
  return ['SURVIVED', stages.length === 0 ? ' (no test imports the file)' : ` (${stages.flat().join(' ')})`]
}

function nameOf({ file, line, operator, start, end, text }: Mutant): string {
  const short = (code: string) => JSON.stringify(code.replace(/\s+/g, ' ').slice(0, 60))
  return `${file}:${line} ${operator}: ${short(readFileSync(file, 'utf8').slice(start, end))} → ${short(text)}`
}

/** Returns the options, or ends the program. */
function readOptions(): Options {
  try {
    return optionsOf(process.argv.slice(2))
  } catch (error) {
    console.error(`${(error as Error).message}\nThe head of test/mutants/run.ts describes the arguments.`)
    process.exit(2)
  }
}

process.exitCode = await main()
