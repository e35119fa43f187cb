/** Work in parts, each of which is done whatever became of those before it. */

/** `takes`: whether it can do that file. `files`: those of them it is to do instead of all; undefined: all. False: something failed. */
export type TestPart<World> = {
  readonly takes: (path: string) => boolean
  readonly run: (world: World, files: readonly string[] | undefined) => Promise<boolean>
}

export type TestParts<World> = {
  readonly parts: Readonly<Record<string, TestPart<World>>>
  /** Names of those that are done where none is named, in their order. */
  readonly usual: readonly string[]
  /** What all work at; closed whatever happens. */
  readonly open: () => Promise<World & { readonly close: () => Promise<void> }>
  /** How many requests have been answered there. */
  readonly answered: (world: World) => number
  readonly report: (line: string) => void
  /** What went wrong beside the tests. */
  readonly fail: (error: unknown) => void
  /** Once it says so, nothing further is begun. */
  readonly stopped: AbortSignal
}

/** `words`: names of parts and, with a slash in them, files. The exit code: 2 where nothing could be begun, 1 where something failed. */
export async function runParts<World>(words: readonly string[], tests: TestParts<World>): Promise<number> {
  const chosen = chosenOf(words, tests)
  if (typeof chosen === 'string') {
    tests.report(chosen)
    return 2
  }
  try {
    const world = await tests.open()
    try {
      let hasFailed = false
      for (const name of chosen.names) hasFailed = !(await done(name, world, chosen.files, tests)) || hasFailed
      return hasFailed ? 1 : 0
    } finally {
      await world.close()
    }
  } catch (error) {
    tests.fail(error)
    return 1
  }
}

type Chosen = { readonly names: readonly string[]; readonly files: readonly string[] }

/** Why not, where it cannot be. */
function chosenOf<World>(words: readonly string[], { parts, usual }: TestParts<World>): Chosen | string {
  const [files, selected] = [words.filter((word) => word.includes('/')), words.filter((word) => !word.includes('/'))]
  const unknown = selected.filter((part) => !Object.hasOwn(parts, part))
  if (unknown.length > 0) return `Unknown: ${unknown.join(', ')}; parts: ${Object.keys(parts).join(', ')}`
  const all = selected.length === 0 ? usual : selected
  const names = all.filter((part) => files.length === 0 || files.some(parts[part]!.takes))
  const left = files.filter((path) => !names.some((part) => parts[part]!.takes(path)))
  return left.length > 0 ? `Tested by none of ${all.join(', ')}: ${left.join(', ')}` : { names, files }
}

async function done<World>(name: string, world: World, files: readonly string[], tests: TestParts<World>): Promise<boolean> {
  const { parts, answered, report, fail, stopped } = tests
  const [before, since] = [answered(world), performance.now()]
  const { takes, run } = parts[name]!
  const hasPassed = await run(world, files.length === 0 ? undefined : files.filter(takes)).catch((error: unknown) => {
    if (!stopped.aborted) fail(error)
    return false
  })
  stopped.throwIfAborted()
  const seconds = Math.round((performance.now() - since) / 1_000)
  report(`\n=== ${name}: ${hasPassed ? 'passed' : 'failed'}, ${answered(world) - before} requests, ${seconds} s\n`)
  return hasPassed
}
