/** Clock of the machine. Within the process it never goes back, even if the machine's clock is set back. */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../../ports/execution/clock.ts'

export class SystemClock implements Clock {
  #last = 0

  now(): number {
    this.#last = Math.max(this.#last, Date.now())
    return this.#last
  }

  newId(): string {
    return randomUUID()
  }
}
