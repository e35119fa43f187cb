/** Stamps of commits in progress, and the instant up to which no new stamp is accepted. */
import type { Write } from '../../../ports/store/resource-store.ts'

export class OpenStamps {
  /** Oldest stamp of each commit in progress. */
  readonly #underWay = new Set<{ readonly oldest: number }>()
  #settled = Number.NEGATIVE_INFINITY

  /** Registers a commit until the result is disposed. Returns undefined if one of its stamps is already settled. */
  begin(writes: readonly Write[]): Disposable | undefined {
    const oldest = writes.reduce((least, { lastUpdated }) => Math.min(least, lastUpdated), Number.POSITIVE_INFINITY)
    if (oldest <= this.#settled) return undefined
    const commit = { oldest }
    this.#underWay.add(commit)
    return { [Symbol.dispose]: () => this.#underWay.delete(commit) }
  }

  /** Rejects later commits with stamps up to the instant. Returns true if no commit in progress has such a stamp. */
  settled(instant: number): boolean {
    this.#settled = Math.max(this.#settled, instant)
    // guard: settled-waits-for-open-writes
    return ![...this.#underWay].some(({ oldest }) => oldest <= instant)
  }
}
