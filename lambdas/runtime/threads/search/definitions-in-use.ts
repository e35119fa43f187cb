/** What the thread of the index tells about SearchParameters, put together for those who serve. */
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

  /** After the first words: before them a search would take parameters somebody defined for unknown ones. */
  whenKnown<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#now === undefined ? this.#known.then(work) : work()
  }

  take(changed: Partial<Definitions>): void {
    this.#now = { ...this.now(), ...changed }
    this.#knows()
  }

  /** There will be no words for now: nobody has to wait for them. */
  silent(): void {
    this.#knows()
  }
}
