/** Bytes of lines, one after the other, in one piece that grows. */
const KiB = 1024
/** Bytes it grows to, in few steps: each is memory to be collected. The last has room for a part, and for the page that fills it. */
const STEPS = [64 * KiB, 1_024 * KiB, 10_240 * KiB] as const
const NEWLINE = 10

export class LineBuffer {
  #bytes = memoryOf(STEPS[0])
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
    this.#bytes = memoryOf(STEPS[0])
    this.size = 0
  }

  #grow(atLeast: number): void {
    const larger = memoryOf(STEPS.find((step) => step >= atLeast) ?? 2 * atLeast)
    larger.set(this.bytes)
    this.#bytes = larger
  }
}

/** Not cleared: all that is read of it was written. No Buffer, whose slices are views. */
const memoryOf = (size: number): Uint8Array => new Uint8Array(Buffer.allocUnsafeSlow(size).buffer)
