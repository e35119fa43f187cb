/** A bounded queue that networks share: each waits for its turn, and the network with most waiters is refused first. */

export type Waiter = { readonly run: () => void; readonly refuse: () => void }

export class FairQueue {
  readonly #most: number
  /** In the order of their turns. None is empty. */
  readonly #networks = new Map<string, Waiter[]>()
  #length = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Adds a waiter. Returns the waiter that has no place: the last of the network that has most. */
  add(network: string, waiter: Waiter): Waiter | undefined {
    const own = this.#networks.get(network) ?? []
    own.push(waiter)
    this.#networks.set(network, own)
    this.#length++
    if (this.#length <= this.#most) return undefined
    // Among equal networks the newcomer's call leaves: the others have waited longer.
    const [name, longest] = [...this.#networks].reduce((most, each) => (each[1].length > most[1].length ? each : most), [network, own])
    return this.#removed(name, longest, longest.pop()!)
  }

  /** Removes and returns the next waiter. The networks take turns. */
  next(): Waiter | undefined {
    const [first] = this.#networks
    if (first === undefined) return undefined
    const [network, waiters] = first
    // The network goes to the end.
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
