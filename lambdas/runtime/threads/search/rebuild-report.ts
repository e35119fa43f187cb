/** Lines for the operator while the index is made again: why, how far it is, and when it is complete. */
export class RebuildReport {
  readonly #reason: string
  readonly #total: number
  readonly #isAnswered: boolean
  readonly #write: (line: string) => void
  #quarters: number | undefined
  #isDone = false

  /** `total`: versions of the store. `isAnswered`: the previous index answers searches meanwhile. */
  constructor(reason: string, total: number, isAnswered: boolean, write: (line: string) => void) {
    this.#reason = reason
    this.#total = total
    this.#isAnswered = isAnswered
    this.#write = write
  }

  /** `position`: versions that are indexed. Writes a line at the begin and at each quarter. */
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

  /** The new index answers. */
  done(): void {
    if (this.#quarters !== undefined && !this.#isDone) this.#write('The search index is complete')
    this.#isDone = true
  }
}
