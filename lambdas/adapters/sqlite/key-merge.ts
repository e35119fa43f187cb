/**
 * Takes the recent keys over into their table, in short transactions: see recent-keys.ts. What a crash leaves is begun again, so that nobody
 * needs to wait for the disk.
 */
import type { LogWriter } from './log-writer.ts'
import type { Key, RecentKeys } from './recent-keys.ts'

/** Keys of a transaction at least, and into how many parts the keys go at most, however many come meanwhile. */
const SLICE = { least: 1_000, parts: 20 }

export class KeyMerge {
  readonly #log: LogWriter
  readonly #recent: RecentKeys
  /** All keys up to here were there when it began. */
  readonly #end: number
  readonly #steps: Iterator<void>

  constructor(log: LogWriter) {
    this.#log = log
    this.#recent = log.recent
    this.#end = log.position
    this.#steps = this.#merge()
  }

  /** Whether that was all. After a rollback it is given up: it may have seen what is not there any more. */
  step(): boolean {
    return this.#log.recent !== this.#recent || this.#steps.next().done === true
  }

  *#merge(): Generator<void> {
    const slice = Math.max(SLICE.least, this.#recent.size / SLICE.parts)
    const keys = this.#recent.inOrder()
    for (let isDone = false; !isDone; yield) isDone = this.#log.atomically(() => this.#takeOver(keys, slice), 'NORMAL')
    this.#log.atomically(() => this.#log.haveTakenOver(this.#end), 'NORMAL')
    this.#recent.forget(this.#end + 1)
  }

  #takeOver(keys: Iterator<Key, undefined>, most: number): boolean {
    for (let taken = 0; taken < most; taken++) {
      const { done, value } = keys.next()
      if (done === true) return true
      this.#log.takeOver(value)
    }
    return false
  }
}
