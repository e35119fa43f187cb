/** The lines of source files that differ from a commit. */
import { execFileSync } from 'node:child_process'
import { SOURCES } from './guards.ts'

export type ChangedLines = ReadonlyMap<string, ReadonlySet<number>>

const git = (...args: readonly string[]): string =>
  execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 2 ** 28 })

export const commit = (): string => git('rev-parse', 'HEAD').trim()

/** Returns `given`, or $FHIR_BASE, or the commit at which this branch left origin/main, or the parent commit. */
export function baseOf(given: string | undefined): string {
  const named = given ?? process.env.FHIR_BASE
  if (named !== undefined && named !== '') return named
  try {
    const left = git('merge-base', 'HEAD', 'origin/main').trim()
    if (left !== commit()) return left
  } catch {
    // There is no origin/main.
  }
  return 'HEAD~1'
}

/** Returns the changed lines of the working tree, counted from 1. */
export const changedSince = (base: string): ChangedLines =>
  linesIn(git('diff', '--unified=0', '--no-color', '--no-ext-diff', '--src-prefix=a/', '--dst-prefix=b/', base, '--', ...SOURCES))

/** Returns the added and changed lines of a unified diff, by file. */
export function linesIn(diff: string): ChangedLines {
  const lines = new Map<string, Set<number>>()
  let file = ''
  for (const line of diff.split('\n')) {
    if (line.startsWith('+++ ')) file = line.startsWith('+++ b/') ? line.slice('+++ b/'.length) : ''
    const [, from, count = '1'] = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(line) ?? []
    if (from === undefined || !file.endsWith('.ts')) continue
    const ofFile = lines.get(file) ?? new Set()
    for (let i = 0; i < Number(count); i++) ofFile.add(Number(from) + i)
    lines.set(file, ofFile)
  }
  return lines
}
