/**
 * Moves the recent keys to the key table in short transactions (recent-keys.ts). After a crash, a merge starts again from the first key.
 */
import type { KeyTableRow } from '../keys/recent-keys.ts'
import type { LogWriter } from './log-writer.ts'

/**
 * `least`: minimum keys per transaction. `parts`: maximum transactions for the keys present at the start. The limit bounds how many keys
 * arrive during a merge.
 */
const SLICE = { least: 1_000, parts: 20 }

export class KeyMerge {
  readonly #log: LogWriter
  /** Position of the log when the merge started. The merge moves all keys up to it. */
  readonly #end: number
  readonly #steps: Iterator<void>

  constructor(log: LogWriter) {
    this.#log = log
    this.#end = log.position
    this.#steps = this.#merge()
  }

  /** Runs the next transaction. Returns true after the last one. After an error no key is lost, but a new merge must be started. */
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
