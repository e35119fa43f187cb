/** Lets requests through to what is inside, and nobody while that is exchanged for another. */

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

  /** `refuse` answers while the gate is shut. */
  async pass<Answer>(through: (inside: Inside) => Promise<Answer>, refuse: (inside: Inside) => Promise<Answer>): Promise<Answer> {
    if (!this.#isOpen) return refuse(this.#inside)
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
