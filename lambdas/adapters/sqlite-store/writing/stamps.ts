/** Stamps (lastUpdated) of commits in progress, and the settled instant: commits with stamps up to it are rejected. */
import type { Write } from '../../../ports/store/resource-store.ts'

export class OpenStamps {
  /** Commits in progress. `oldest`: oldest stamp of the commit. */
  readonly #underWay = new Set<{ readonly oldest: number }>()
  #settled = Number.NEGATIVE_INFINITY

  /**
   * Registers a commit until the returned object is disposed. Returns undefined, and registers nothing, if one of its stamps is settled.
   */
  begin(writes: readonly Write[]): Disposable | undefined {
    const oldest = writes.reduce((least, { lastUpdated }) => Math.min(least, lastUpdated), Number.POSITIVE_INFINITY)
    if (oldest <= this.#settled) return undefined
    const commit = { oldest }
    this.#underWay.add(commit)
    return { [Symbol.dispose]: () => this.#underWay.delete(commit) }
  }

  /** Settles an instant: later commits with stamps up to it are rejected. Returns true if no commit in progress has such a stamp. */
  settled(instant: number): boolean {
    this.#settled = Math.max(this.#settled, instant)
    // guard: settled-waits-for-open-writes
    return ![...this.#underWay].some(({ oldest }) => oldest <= instant)
  }
}
