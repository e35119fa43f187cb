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

/**
 * Returns a function that runs `work` with the parameters of packages. Their list is at most CHECK_EVERY old. If the list of packages
 * cannot be read, `work` runs with the earlier ones.
 */
export function packageParameters({ packages, searcher, now, warn, report }: PackageParametersParts) {
  const check = packageParameterWatch(packages, warn, (definitions) => searcher.setPackages(definitions, now()))
  let until = Number.NEGATIVE_INFINITY
  let checking: Promise<void> | undefined
  return <Result>(work: () => Promise<Result>): Promise<Result> => {
    const at = performance.now()
    if (at >= until && checking === undefined) {
      until = at + CHECK_EVERY
      checking = check()
        .catch(report)
        .finally(() => (checking = undefined))
    }
    return checking === undefined ? work() : checking.then(work)
  }
}
