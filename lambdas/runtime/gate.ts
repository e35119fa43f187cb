/** Lets requests through to what is inside, and nobody while that is exchanged for another. */

import type { HttpResponse } from '../http/exchange.ts'
import { describe } from '../http/steps/describe-errors.ts'
import { httpResponse } from '../http/steps/write-response.ts'
import { Overloaded } from '../ports/overloaded.ts'

export class Gate<Inside> {
  #inside: Inside
  #isOpen = true
  #passing = 0
  #emptied: (() => void) | undefined

  constructor(inside: Inside) {
    this.#inside = inside
  }

  get inside(): Inside {
    return this.#inside
  }

  async pass(through: (inside: Inside) => Promise<HttpResponse>): Promise<HttpResponse> {
    if (!this.#isOpen) return CLOSED
    this.#passing++
    try {
      return await through(this.#inside)
    } finally {
      this.#passing--
      if (this.#passing === 0) this.#emptied?.()
    }
  }

  /** Waits until nobody is inside. */
  async exchange(other: (inside: Inside) => Promise<Inside>): Promise<void> {
    this.#isOpen = false
    try {
      if (this.#passing > 0) await new Promise<void>((resolve) => (this.#emptied = resolve))
      this.#inside = await other(this.#inside)
    } finally {
      this.#emptied = undefined
      this.#isOpen = true
    }
  }
}

const CLOSED = httpResponse(
  describe(new Overloaded(), '', () => undefined),
  false,
)
