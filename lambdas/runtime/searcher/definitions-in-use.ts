/** What the thread of the index tells about SearchParameters, put together for those who serve. */
import { type Definitions, NO_DEFINITIONS } from '../../indexing/custom-definitions.ts'
import { prepared } from '../../search/own-evaluation.ts'

export class DefinitionsInUse {
  readonly #report: (error: unknown) => void
  readonly #known: Promise<void>
  #now: Definitions | undefined
  #taken: Promise<void> = Promise.resolve()
  #knows: () => void = () => undefined

  constructor(report: (error: unknown) => void) {
    this.#report = report
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

  /** In turn, each when what it needs is loaded. */
  take(changed: Partial<Definitions>): void {
    this.#taken = this.#taken
      .then(() => prepared(changed.definitions?.map(({ mapping }) => mapping)))
      .catch(this.#report)
      .then(() => {
        this.#now = { ...this.now(), ...changed }
        this.#knows()
      })
  }

  /** There will be no words for now: nobody has to wait for them. */
  silent(): void {
    this.#knows()
  }
}
