/** The search parameters of packages that the server sends to the index thread. */
import type { PackageDefinitions } from '../../../ports/definitions/package-definitions.ts'
import type { SearchThreadMessage } from './thread-messages.ts'

type Message = Extract<SearchThreadMessage, { kind: 'packages' }>

export class SentPackages {
  readonly #post: (message: Message) => void
  #last: Message | undefined
  /** Resolve the calls that wait for the thread. */
  readonly #waiting: (() => void)[] = []

  constructor(post: (message: Message) => void) {
    this.#post = post
  }

  /**
   * Sends the packages. Resolves once the thread has registered them, or after `release`. Without packages, before and now, it does not wait.
   * `isRunning`: whether there is a thread. Without one, the next thread gets the packages.
   */
  set(packages: readonly PackageDefinitions[], at: number, isRunning: boolean): Promise<void> {
    const isAny = packages.length > 0 || (this.#last?.packages.length ?? 0) > 0
    this.#last = { kind: 'packages', number: (this.#last?.number ?? 0) + 1, packages, at }
    this.send()
    return isAny && isRunning ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve()
  }

  /** Sends the packages again, to a new thread. */
  send(): void {
    if (this.#last !== undefined) this.#post(this.#last)
  }

  /** Resolves the waiting calls. `number`: of the packages that the thread has registered. Without it, all calls are released. */
  release(number = this.#last?.number): void {
    if (number === this.#last?.number) for (const resolve of this.#waiting.splice(0)) resolve()
  }
}
