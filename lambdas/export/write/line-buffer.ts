/** A growing buffer of lines in contiguous memory. */
const KiB = 1024
/**
 * Sizes of the buffer in bytes. There are few steps, because each leaves memory to collect. The last one holds a part and the page that
 * completes it.
 */
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

  /** The lines as a view. Lines added after `clear` overwrite it. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.size)
  }

  clear(): void {
    this.size = 0
  }

  /** Clears the buffer and frees its memory. */
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

/**
 * Allocates memory that is not zeroed: only written bytes are read. The result is no Buffer, because `slice` of a Buffer returns a view.
 */
const memoryOf = (size: number): Uint8Array => new Uint8Array(Buffer.allocUnsafeSlow(size).buffer)
