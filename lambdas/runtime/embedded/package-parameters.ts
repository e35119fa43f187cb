/** Keeps the search parameters of packages in the index up to date, while commands add and remove packages. */
import { packageParameterWatch } from '../../packages/package-search-parameters.ts'
import type { AddedPackages } from '../../ports/definitions/package-store.ts'
import type { ThreadedIndex } from '../threads/search/threaded-index.ts'

/** How long the list of packages is cached, in milliseconds. */
const CHECK_EVERY = 1_000

export type PackageParametersParts = {
  readonly packages: AddedPackages
  readonly searcher: Pick<ThreadedIndex, 'setPackages'>
  readonly now: () => number
  readonly warn: (line: string) => void
  readonly report: (error: unknown) => void
}

/** Runs work with the parameters of packages. `isFresh`: with those of the list at the call; otherwise it is at most CHECK_EVERY old. */
export type WithPackages = <Result>(work: () => Promise<Result>, isFresh?: boolean) => Promise<Result>

/** Returns a function that runs work with the parameters of packages. If their list cannot be read, work runs with the earlier ones. */
export function packageParameters({ packages, searcher, now, warn, report }: PackageParametersParts): WithPackages {
  const check = packageParameterWatch(packages, warn, (definitions) => searcher.setPackages(definitions, now()))
  let until = Number.NEGATIVE_INFINITY
  let checking: Promise<void> | undefined
  const startCheck = (): Promise<void> => {
    until = performance.now() + CHECK_EVERY
    checking = check()
      .catch(report)
      .finally(() => (checking = undefined))
    return checking
  }
  return (work, isFresh = false) => {
    // A running check may have read an earlier list.
    if (isFresh) return Promise.resolve(checking).then(startCheck).then(work)
    if (performance.now() >= until && checking === undefined) void startCheck()
    return checking === undefined ? work() : checking.then(work)
  }
}
