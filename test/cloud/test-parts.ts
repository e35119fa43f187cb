/** Work in parts, each of which is done whatever became of those before it. */

/** `takes`: whether it can do that file. `files`: those of them it is to do instead of all; undefined: all. False: something failed. */
export type TestPart<Home> = {
  readonly takes: (path: string) => boolean
  readonly run: (home: Home, files: readonly string[] | undefined) => Promise<boolean>
}

export type TestParts<Home> = {
  readonly parts: Readonly<Record<string, TestPart<Home>>>
  /** Names of those that are done where none is named, in their order. */
  readonly usual: readonly string[]
  /** What all work at; closed whatever happens. */
  readonly open: () => Promise<Home & { readonly close: () => Promise<void> }>
  /** How many requests have been answered there. */
  readonly answered: (home: Home) => number
  readonly report: (line: string) => void
  /** What went wrong beside the tests. */
  readonly fail: (error: unknown) => void
  /** Once it says so, nothing further is begun. */
  readonly stopped: AbortSignal
}

/** `words`: names of parts and, with a slash in them, files. The exit code: 2 where nothing could be begun, 1 where something failed. */
export async function runParts<Home>(words: readonly string[], given: TestParts<Home>): Promise<number> {
  const chosen = chosenOf(words, given)
  if (typeof chosen === 'string') {
    given.report(chosen)
    return 2
  }
  try {
    const home = await given.open()
    try {
      let hasFailed = false
      for (const name of chosen.names) hasFailed = !(await done(name, home, chosen.files, given)) || hasFailed
      return hasFailed ? 1 : 0
    } finally {
      await home.close()
    }
  } catch (error) {
    given.fail(error)
    return 1
  }
}

type Chosen = { readonly names: readonly string[]; readonly files: readonly string[] }

/** Why not, where it cannot be. */
function chosenOf<Home>(words: readonly string[], { parts, usual }: TestParts<Home>): Chosen | string {
  const [files, named] = [words.filter((word) => word.includes('/')), words.filter((word) => !word.includes('/'))]
  const unknown = named.filter((part) => !Object.hasOwn(parts, part))
  if (unknown.length > 0) return `Unknown: ${unknown.join(', ')}; parts: ${Object.keys(parts).join(', ')}`
  const all = named.length === 0 ? usual : named
  const names = all.filter((part) => files.length === 0 || files.some(parts[part]!.takes))
  const left = files.filter((path) => !names.some((part) => parts[part]!.takes(path)))
  return left.length > 0 ? `Tested by none of ${all.join(', ')}: ${left.join(', ')}` : { names, files }
}

async function done<Home>(name: string, home: Home, files: readonly string[], given: TestParts<Home>): Promise<boolean> {
  const { parts, answered, report, fail, stopped } = given
  const [before, since] = [answered(home), performance.now()]
  const { takes, run } = parts[name]!
  const hasPassed = await run(home, files.length === 0 ? undefined : files.filter(takes)).catch((error: unknown) => {
    if (!stopped.aborted) fail(error)
    return false
  })
  stopped.throwIfAborted()
  const seconds = Math.round((performance.now() - since) / 1_000)
  report(`\n=== ${name}: ${hasPassed ? 'passed' : 'failed'}, ${answered(home) - before} requests, ${seconds} s\n`)
  return hasPassed
}
