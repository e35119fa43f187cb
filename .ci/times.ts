/**
 * Jest reporter: prints the seconds of each folder of `test` and of the slowest files, with the difference to the run before.
 * They are stored in the cache folder of the user, in one file for each set of projects.
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
    const before = stored(projects, files)
    const rows = (title: string, seconds: Seconds, earlier: Seconds, most: number): readonly string[] => [
      title,
      ...Object.entries(seconds)
        .sort(([, a], [, b]) => b - a)
        .slice(0, most)
        .map(([name, value]) => `${value.toFixed(1).padStart(8)} ${difference(value, earlier[name])} ${name}`),
    ]
    const lines = [
      ...rows('Seconds by folder, and the difference to the run before:', byFolder(files), byFolder(before), Number.POSITIVE_INFINITY),
      ...rows(`The ${SLOWEST} slowest files:`, files, before, SLOWEST),
    ]
    process.stderr.write(`\n${lines.join('\n')}\n`)
  }
}

const difference = (value: number, earlier: number | undefined): string =>
  (earlier === undefined ? 'new' : `${value < earlier ? '' : '+'}${(value - earlier).toFixed(1)}`).padStart(8)

function byFolder(files: Seconds): Seconds {
  const folders: Record<string, number> = {}
  for (const [path, seconds] of Object.entries(files)) {
    const folder = path.includes('/') ? path.slice(0, path.indexOf('/')) : '.'
    folders[folder] = (folders[folder] ?? 0) + seconds
  }
  return folders
}

/** Stores the seconds of this run and returns those of the run before. */
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
