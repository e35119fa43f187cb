/** Tests of a source file: tests of its guards and of its name first, then by the steps of imports to the file, small tests first. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

const FOLDERS = ['bin', 'lambdas', 'lib', 'search-mappings', 'test']
/** A relative path to a module in quotes: imports, and the files of threads and processes. */
const MODULE = /'(\.{1,2}\/[^'\n]+\.(?:ts|js|mjs))'/g
/** Maximum test files per mutant: of the first list, and of both lists. The second list runs only if the first one passes. */
const FIRST = 2
const MOST = 6

/** Imported files, by file. */
export type Imports = ReadonlyMap<string, readonly string[]>

export function readImports(): Imports {
  const files = FOLDERS.filter((folder) => existsSync(folder)).flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
  )
  const modules = files.filter((file) => /\.(?:ts|js|mjs)$/.test(file))
  return new Map(
    modules.map((file) => [file, [...readFileSync(file, 'utf8').matchAll(MODULE)].map(([, path]) => join(dirname(file), path!))]),
  )
}

export class RelatedTests {
  readonly #imports: Imports
  readonly #importers: Imports
  readonly #tests: ReadonlySet<string>
  readonly #guarding: ReadonlyMap<string, readonly string[]>
  /** Number of files that each test reaches. */
  readonly #sizes = new Map<string, number>()

  /** `tests`: test files that may run. `guarding`: path patterns of the tests of the kept guards, by source file. */
  constructor(imports: Imports, tests: ReadonlySet<string>, guarding: ReadonlyMap<string, readonly string[]> = new Map()) {
    const pairs = [...imports].flatMap(([file, imported]) => imported.map((each) => ({ file, each })))
    const importers = Map.groupBy(pairs, ({ each }) => each)
    this.#imports = imports
    this.#importers = new Map([...importers].map(([each, of]) => [each, of.map(({ file }) => file)]))
    this.#tests = tests
    this.#guarding = guarding
  }

  /** Returns lists of test files. A run takes one list after the other until a test notices the mutant. */
  of(file: string): readonly (readonly string[])[] {
    const distances = distancesFrom(file, this.#importers)
    const guarding = this.#guarding.get(file) ?? []
    const rank = (test: string): readonly number[] => [
      guarding.some((pattern) => test.includes(pattern)) || lastPartOf(test) === lastPartOf(file) ? 0 : distances.get(test)!,
      -sharedWords(test, file),
      this.#sizeOf(test),
    ]
    const ranked = [...distances.keys()]
      .filter((test) => this.#tests.has(test))
      .map((test) => ({ test, rank: rank(test) }))
      .sort((a, b) => compare(a.rank, b.rank) || (a.test < b.test ? -1 : 1))
      .map(({ test }) => test)
    return [ranked.slice(0, FIRST), ranked.slice(FIRST, MOST)].filter((list) => list.length > 0)
  }

  #sizeOf(test: string): number {
    const size = this.#sizes.get(test) ?? distancesFrom(test, this.#imports).size
    this.#sizes.set(test, size)
    return size
  }
}

/** Returns every file that can be reached, with the least number of steps. */
function distancesFrom(file: string, next: Imports): ReadonlyMap<string, number> {
  const found = new Map([[file, 0]])
  for (const [each, distance] of found) for (const other of next.get(each) ?? []) if (!found.has(other)) found.set(other, distance + 1)
  return found
}

const compare = (a: readonly number[], b: readonly number[]): number => a.map((each, i) => each - b[i]!).find((order) => order !== 0) ?? 0

/** Returns the words of a path without its top folder and suffix: `lambdas/http/route-table.ts` is http, route, table. */
const wordsOf = (path: string): readonly string[] =>
  path
    .replace(/^[^/]+\//, '')
    .replace(/(?:\.test)?\.[a-z]+$/, '')
    .split(/[/-]/)

/** Returns the name without the suffix: `lambdas/interactions/rest/history.ts` and `test/api/history.test.ts` are history. */
const lastPartOf = (path: string): string => basename(path).replace(/\..*/, '')
const sharedWords = (test: string, file: string): number => wordsOf(test).filter((word) => wordsOf(file).includes(word)).length
