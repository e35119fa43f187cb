/**
 * Bounded queue that networks share, so that one network cannot fill it. Networks take turns. When the queue is full, the network with most
 * waiters loses one.
 */

export type Waiter = { readonly run: () => void; readonly refuse: () => void }

export class FairQueue {
  readonly #most: number
  /** Waiters by network, in the order of their turns. No list is empty. */
  readonly #networks = new Map<string, Waiter[]>()
  #length = 0

  constructor(most: number) {
    this.#most = most
  }

  /**
   * Adds a waiter. If the queue is full, removes and returns the last waiter of the network with most waiters, which may be the added one.
   * The caller must reject it.
   */
  add(network: string, waiter: Waiter): Waiter | undefined {
    const own = this.#networks.get(network) ?? []
    own.push(waiter)
    this.#networks.set(network, own)
    this.#length++
    if (this.#length <= this.#most) return undefined
    // Among networks with equally many waiters the new waiter is removed: the others have waited longer.
    const [name, longest] = [...this.#networks].reduce((most, each) => (each[1].length > most[1].length ? each : most), [network, own])
    return this.#removed(name, longest, longest.pop()!)
  }

  /** Removes and returns the next waiter, or undefined if the queue is empty. Networks take turns. */
  next(): Waiter | undefined {
    const [first] = this.#networks
    if (first === undefined) return undefined
    const [network, waiters] = first
    // Move the network to the end, so that all others have a turn first.
    this.#networks.delete(network)
    this.#networks.set(network, waiters)
    return this.#removed(network, waiters, waiters.shift()!)
  }

  #removed(network: string, waiters: readonly Waiter[], waiter: Waiter): Waiter {
    if (waiters.length === 0) this.#networks.delete(network)
    this.#length--
    return waiter
  }
}
