/**
 * Wait of a batch for commits that are about to arrive. A shared flush saves processor time. The wait ends with the last commit that can be
 * expected, because all writers then wait for the flush and the processors are idle.
 */

/** Commits that wait for the batch. `weight`: work of writing them, in bytes. */
export type WaitingCommits = { readonly count: number; readonly weight: number }
/** `now`: milliseconds. `nap`: pauses the thread for a fraction of a millisecond. */
export type WaitClock = { readonly now: () => number; readonly nap: () => void }

/** Size of recent batches, in commits, from which a batch waits. For smaller ones the wait costs more than the shared flush saves. */
const COMPANY = 5
/** Maximum milliseconds of the wait: `each` after the latest arrival, `all` in total. */
const PATIENCE = { each: 2, all: 8 }
/** Weight in bytes from which a batch does not wait. */
const WORTH_A_FLUSH = 500_000

const word = new Int32Array(new SharedArrayBuffer(4))
const MACHINE: WaitClock = { now: () => performance.now(), nap: () => void Atomics.wait(word, 0, 0, 0.1) }

export class BatchWait {
  readonly #clock: WaitClock
  /** Size of recent batches in commits. It grows by the commits that arrive during a flush. */
  #usual = 1

  constructor(clock = MACHINE) {
    this.#clock = clock
  }

  /** Records the size of a batch, in commits. */
  committed(count: number): void {
    this.#usual = Math.max(count, this.#usual >> 1)
  }

  /**
   * Waits while commits keep arriving, until the batch is as large as recent ones or heavy enough. Does not wait if recent batches were
   * small. `receive`: accepts the next commit, and returns false if none has arrived.
   */
  forMore(waiting: () => WaitingCommits, receive: () => boolean): void {
    const began = this.#clock.now()
    let arrived = began
    while (this.#isWorth(waiting())) {
      const now = this.#clock.now()
      if (receive()) arrived = now
      else if (now - arrived < PATIENCE.each && now - began < PATIENCE.all) this.#clock.nap()
      else return
    }
  }

  #isWorth({ count, weight }: WaitingCommits): boolean {
    return this.#usual >= COMPANY && count < this.#usual && weight < WORTH_A_FLUSH
  }
}
