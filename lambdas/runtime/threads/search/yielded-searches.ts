/** Searches that yielded to others and wait for their next attempt. It starts after requests that have arrived meanwhile. */
import type { IndexRequest } from './thread-messages.ts'

export class YieldedSearches {
  readonly #answer: (ask: IndexRequest, lost: number) => unknown
  readonly #all: { readonly ask: IndexRequest; readonly lost: number }[] = []

  /** `answer`: starts an attempt. `lost`: milliseconds of the earlier attempts. */
  constructor(answer: (ask: IndexRequest, lost: number) => unknown) {
    this.#answer = answer
  }

  add(ask: IndexRequest, lost: number): void {
    this.#all.push({ ask, lost })
    if (this.#all.length === 1) setImmediate(this.#next)
  }

  forget(number: number): void {
    const at = this.#all.findIndex(({ ask }) => ask.number === number)
    if (at >= 0) this.#all.splice(at, 1)
  }

  readonly #next = (): void => {
    const [first] = this.#all
    if (first === undefined) return
    this.#answer(first.ask, first.lost)
    this.#all.shift()
    if (this.#all.length > 0) setImmediate(this.#next)
  }
}
