/** The machine's clock, never going back: not within the process, and not behind `from` after a restart. */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../../ports/clock.ts'

export class SystemClock implements Clock {
  #last: number

  /** `from`: the newest instant a store already holds, ms since 1970. */
  constructor(from = 0) {
    this.#last = from
  }

  now(): number {
    this.#last = Math.max(this.#last, Date.now())
    return this.#last
  }

  newId(): string {
    return randomUUID()
  }
}
