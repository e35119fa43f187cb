/**
 * Jest reporter: prints the seconds of each folder of `test` and of the slowest files, with the difference to the run before.
 * The seconds are stored in the cache folder of the user, in one file for each set of projects.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, relative } from 'node:path'

type File = { readonly testFilePath: string; readonly perfStats: { readonly start: number; readonly end: number } }
type Contexts = ReadonlySet<{ readonly config: { readonly displayName?: { readonly name: string } } }>
type Seconds = Readonly<Record<string, number>>

const SLOWEST = 25

export default class Times {
  onRunComplete(contexts: Contexts, { testResults }: { readonly testResults: readonly File[] }): void {
    const files: Seconds = Object.fromEntries(
      testResults.map(({ testFilePath, perfStats }) => [relative('test', testFilePath), (perfStats.end - perfStats.start) / 1_000]),
    )
    const projects = [...contexts].map(({ config }) => config.displayName?.name ?? 'all')
    process.stderr.write(`\n${reportLinesOf(files, stored(projects, files)).join('\n')}\n`)
  }
}

/** Returns the report. A difference counts only files that have seconds in `before` too: a run may be of some files, and files move. */
export function reportLinesOf(files: Seconds, before: Seconds): readonly string[] {
  const differences = Object.fromEntries(
    Object.entries(files).flatMap(([path, seconds]) => (before[path] === undefined ? [] : [[path, seconds - before[path]]])),
  )
  return [
    'Seconds by folder, and the difference to the run before:',
    ...rows(byFolder(files), byFolder(differences)),
    `The ${SLOWEST} slowest files:`,
    ...rows(files, differences).slice(0, SLOWEST),
  ]
}

const rows = (seconds: Seconds, differences: Seconds): readonly string[] =>
  Object.entries(seconds)
    .sort(([, a], [, b]) => b - a)
    .map(([name, value]) => `${value.toFixed(1).padStart(8)} ${signed(differences[name])} ${name}`)

const signed = (difference: number | undefined): string =>
  (difference === undefined ? 'new' : `${difference < 0 ? '' : '+'}${difference.toFixed(1)}`).padStart(8)

function byFolder(files: Seconds): Seconds {
  const folders: Record<string, number> = {}
  for (const [path, seconds] of Object.entries(files)) {
    const folder = path.includes('/') ? path.slice(0, path.indexOf('/')) : '.'
    folders[folder] = (folders[folder] ?? 0) + seconds
  }
  return folders
}

/** Stores the seconds of this run and returns those of the runs before: of each file the latest ones. */
function stored(projects: readonly string[], files: Seconds): Seconds {
  const folder = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'fhir-tests')
  const path = join(folder, `times-${projects.toSorted().join('-')}.json`)
  let before: Seconds = {}
  try {
    before = JSON.parse(readFileSync(path, 'utf8')) as Seconds
  } catch {
    // The first run, or a damaged file: there is nothing to compare with.
  }
  mkdirSync(folder, { recursive: true })
  writeFileSync(path, JSON.stringify({ ...before, ...files }))
  return before
}
