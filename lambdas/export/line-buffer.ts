/** Bytes of lines, one after the other, in one piece that grows. */
const FIRST = 64 * 1024
const NEWLINE = 10

export class LineBuffer {
  #bytes = new Uint8Array(FIRST)
  size = 0

  add(line: Uint8Array): void {
    const end = this.size + line.length + 1
    if (end > this.#bytes.length) this.#grow(end)
    this.#bytes.set(line, this.size)
    this.#bytes[end - 1] = NEWLINE
    this.size = end
  }

  /** A view: what is added after `clear` overwrites it. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.size)
  }

  clear(): void {
    this.size = 0
  }

  /** And gives back its memory. */
  release(): void {
    this.#bytes = new Uint8Array(FIRST)
    this.size = 0
  }

  #grow(atLeast: number): void {
    const larger = new Uint8Array(Math.max(atLeast, this.#bytes.length * 2))
    larger.set(this.bytes)
    this.#bytes = larger
  }
}
