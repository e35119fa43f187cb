/** Current definitions of SearchParameters, collected from the reports of the index thread. */
import { type Definitions, NO_DEFINITIONS } from '../../../indexing/custom-definitions.ts'

export class DefinitionsInUse {
  readonly #known: Promise<void>
  #now: Definitions | undefined
  #knows: () => void = () => undefined

  constructor() {
    this.#known = new Promise((resolve) => {
      this.#knows = resolve
    })
  }

  now(): Definitions {
    return this.#now ?? NO_DEFINITIONS
  }

  /**
   * Runs `work` once the index thread has reported definitions, or after a call of `silent`. Without a report, a search would treat custom
   * parameters as unknown.
   */
  whenKnown<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#now === undefined ? this.#known.then(work) : work()
  }

  take(changed: Partial<Definitions>): void {
    this.#now = { ...this.now(), ...changed }
    this.#knows()
  }

  /**
   * Ends the wait for the first report. The server calls it when the index thread reports an error, because definitions may then not arrive
   * for long.
   */
  silent(): void {
    this.#knows()
  }
}
