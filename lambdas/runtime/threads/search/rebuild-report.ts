/** Writes lines for the operator during a rebuild of the index: its reason, its progress and its end. */
export class RebuildReport {
  readonly #reason: string
  readonly #total: number
  readonly #isAnswered: boolean
  readonly #write: (line: string) => void
  #quarters: number | undefined
  #isDone = false

  /**
   * `total`: number of versions in the store. `isAnswered`: whether the previous index answers searches during the rebuild. `write`:
   * receives each line.
   */
  constructor(reason: string, total: number, isAnswered: boolean, write: (line: string) => void) {
    this.#reason = reason
    this.#total = total
    this.#isAnswered = isAnswered
    this.#write = write
  }

  /** Writes a line at the first call, and at each further quarter of the versions. `position`: number of indexed versions. */
  at(position: number): void {
    const total = this.#total
    if (this.#isDone) return
    if (this.#quarters === undefined) {
      const meanwhile = this.#isAnswered ? 'The previous index answers searches meanwhile' : 'Searches wait until it is complete'
      this.#write(`The search index of ${total} versions is rebuilt: ${this.#reason}. ${meanwhile}`)
      this.#quarters = 0
    }
    const quarters = Math.floor((4 * position) / total)
    if (quarters > this.#quarters && quarters < 4) this.#write(`The search index is rebuilt to ${quarters * 25} %`)
    this.#quarters = quarters
    if (position >= total && !this.#isAnswered) this.done()
  }

  /** Writes the last line, that the index is complete, if a line was written before. */
  done(): void {
    if (this.#quarters !== undefined && !this.#isDone) this.#write('The search index is complete')
    this.#isDone = true
  }
}
