/** Reporter of Jest that writes the counts of a run. `--json` writes nothing if `--bail` ends the run. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** File name, in the root folder of the tests. */
export const COUNTS = 'counts.json'

export type Counts = { readonly numFailedTests: number; readonly numPassedTests: number; readonly numRuntimeErrorTestSuites: number }

export default class CountsReporter {
  readonly #file: string

  constructor({ rootDir }: { readonly rootDir: string }) {
    this.#file = join(rootDir, COUNTS)
  }

  onRunComplete(_: unknown, { numFailedTests, numPassedTests, numRuntimeErrorTestSuites }: Counts): void {
    writeFileSync(this.#file, JSON.stringify({ numFailedTests, numPassedTests, numRuntimeErrorTestSuites } satisfies Counts))
  }
}
