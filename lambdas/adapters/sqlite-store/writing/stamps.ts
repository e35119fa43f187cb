/** Which stamps are on their way into the log, and up to which instant none comes any more. */
import type { Write } from '../../../ports/store/resource-store.ts'

export class OpenStamps {
  /** The oldest stamp of each commit under way. */
  readonly #underWay = new Set<{ readonly oldest: number }>()
  #settled = Number.NEGATIVE_INFINITY

  /** From a commit's beginning to what ends it; undefined: it comes too late. */
  begin(writes: readonly Write[]): Disposable | undefined {
    const oldest = writes.reduce((least, { lastUpdated }) => Math.min(least, lastUpdated), Number.POSITIVE_INFINITY)
    if (oldest <= this.#settled) return undefined
    const commit = { oldest }
    this.#underWay.add(commit)
    return { [Symbol.dispose]: () => this.#underWay.delete(commit) }
  }

  /** What is not under way by now comes too late. */
  settled(instant: number): boolean {
    this.#settled = Math.max(this.#settled, instant)
    // guard: settled-waits-for-open-writes
    return ![...this.#underWay].some(({ oldest }) => oldest <= instant)
  }
}
