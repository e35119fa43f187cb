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

  /** Runs `work` after the first report, or after `silent`. Before the report, a search treats custom parameters as unknown. */
  whenKnown<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#now === undefined ? this.#known.then(work) : work()
  }

  take(changed: Partial<Definitions>): void {
    this.#now = { ...this.now(), ...changed }
    this.#knows()
  }

  /** Ends the wait for the first report, because none comes for now. */
  silent(): void {
    this.#knows()
  }
}
