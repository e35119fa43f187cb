/** Takes the recent keys over into their table, in short transactions: see recent-keys.ts. What a crash leaves is begun again. */
import type { KeyTableRow } from '../keys/recent-keys.ts'
import type { LogWriter } from './log-writer.ts'

/** Keys of a transaction at least, and into how many parts those go that are there: more come meanwhile, but not more each time. */
const SLICE = { least: 1_000, parts: 20 }

export class KeyMerge {
  readonly #log: LogWriter
  /** All keys up to here were there when it began. */
  readonly #end: number
  readonly #steps: Iterator<void>

  constructor(log: LogWriter) {
    this.#log = log
    this.#end = log.position
    this.#steps = this.#merge()
  }

  /** Whether that was all. An error: nothing is lost, and all of it is to be done again. */
  step(): boolean {
    return this.#steps.next().done === true
  }

  *#merge(): Generator<void> {
    const slice = Math.max(SLICE.least, this.#log.recent.size / SLICE.parts)
    const keys = this.#log.recent.inOrder()
    for (let isDone = false; !isDone; yield) isDone = this.#log.atomically(() => this.#takeOver(keys, slice))
    this.#log.atomically(() => this.#log.haveTakenOver(this.#end))
    this.#log.recent.forget(this.#end)
  }

  #takeOver(keys: Iterator<KeyTableRow, undefined>, most: number): boolean {
    for (let taken = 0; taken < most; taken++) {
      const { done, value } = keys.next()
      if (done === true) return true
      this.#log.takeOver(value)
    }
    return false
  }
}
