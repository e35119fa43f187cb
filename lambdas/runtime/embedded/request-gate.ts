/**
 * Gate in front of a value that can be exchanged, such as the server on its stores. Requests use the value, and are refused during an
 * exchange.
 */

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

  /** Runs `through` with the value. While the gate is shut, runs `refuse` instead, with the last value, which may be closed. */
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

  /**
   * Shuts the gate, waits for running requests, replaces the value by the result of `other`, and opens the gate. If `other` fails, the gate
   * stays shut, because there is no usable value. Throws an Error if the gate is shut already.
   */
  exchange(other: (inside: Inside) => Promise<Inside>): Promise<void> {
    const exchanged = this.#shut().then(async (inside) => {
      this.#inside = await other(inside)
      this.#isOpen = true
    })
    this.#exchanged = exchanged.catch(() => undefined)
    return exchanged
  }

  /**
   * Shuts the gate for ever: waits for a running exchange and for running requests, then calls `leave`. Does not call `leave` if the
   * exchange failed, because there is no value to leave.
   */
  async close(leave: (inside: Inside) => Promise<void>): Promise<void> {
    await this.#exchanged
    if (this.#isOpen) await leave(await this.#shut())
  }

  /** Shuts the gate for new requests at once. Resolves when running requests have ended. Throws an Error if the gate is shut already. */
  async #shut(): Promise<Inside> {
    if (!this.#isOpen) throw new Error('the gate is shut')
    this.#isOpen = false
    if (this.#passing > 0) await new Promise<void>((resolve) => (this.#emptied = resolve))
    this.#emptied = undefined
    return this.#inside
  }
}
