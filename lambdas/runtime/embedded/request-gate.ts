/** Lets requests through to what is inside, and nobody while that is exchanged for another. */

export class RequestGate<Inside> {
  #inside: Inside
  #isOpen = true
  #passing = 0
  #emptied: (() => void) | undefined
  #exchanged: Promise<unknown> = Promise.resolve()

  constructor(inside: Inside) {
    this.#inside = inside
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** `refuse` answers while the gate is shut; what was inside last may be closed. */
  async pass<Answer>(through: (inside: Inside) => Promise<Answer>, refuse: (last: Inside) => Promise<Answer>): Promise<Answer> {
    if (!this.#isOpen) return refuse(this.#inside)
    this.#passing++
    try {
      return await through(this.#inside)
    } finally {
      this.#passing--
      if (this.#passing === 0) this.#emptied?.()
    }
  }

  /** Waits until nobody is inside. Where `other` fails the gate stays shut, for nothing good is inside. */
  exchange(other: (inside: Inside) => Promise<Inside>): Promise<void> {
    const exchanged = this.#shut().then(async (inside) => {
      this.#inside = await other(inside)
      this.#isOpen = true
    })
    this.#exchanged = exchanged.catch(() => undefined)
    return exchanged
  }

  /** For good. Waits for an exchange under way, and until nobody is inside; `leave` is not asked where an exchange failed. */
  async close(leave: (inside: Inside) => Promise<void>): Promise<void> {
    await this.#exchanged
    if (this.#isOpen) await leave(await this.#shut())
  }

  /** At once for those who come. */
  async #shut(): Promise<Inside> {
    if (!this.#isOpen) throw new Error('the gate is shut')
    this.#isOpen = false
    if (this.#passing > 0) await new Promise<void>((resolve) => (this.#emptied = resolve))
    this.#emptied = undefined
    return this.#inside
  }
}
