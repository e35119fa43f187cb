/** A growing buffer of lines in contiguous memory. */
const KiB = 1024
/**
 * Sizes in bytes to which the buffer grows. There are few, because each growth leaves memory to the garbage collector. The last one holds a
 * part of 8 MiB and the page that completes it; beyond it the buffer doubles.
 */
const STEPS = [64 * KiB, 1_024 * KiB, 10_240 * KiB] as const
const NEWLINE = 10

export class LineBuffer {
  #bytes = memoryOf(STEPS[0])
  size = 0
  /** Number of lines. */
  count = 0

  add(line: Uint8Array): void {
    const end = this.size + line.length + 1
    if (end > this.#bytes.length) this.#grow(end)
    this.#bytes.set(line, this.size)
    this.#bytes[end - 1] = NEWLINE
    this.size = end
    this.count++
  }

  /** The lines as a view of the buffer. Lines added after `clear` overwrite it. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.size)
  }

  clear(): void {
    this.size = 0
    this.count = 0
  }

  /** Removes all lines and replaces the memory by the smallest buffer. */
  release(): void {
    this.#bytes = memoryOf(STEPS[0])
    this.clear()
  }

  #grow(atLeast: number): void {
    const larger = memoryOf(STEPS.find((step) => step >= atLeast) ?? 2 * atLeast)
    larger.set(this.bytes)
    this.#bytes = larger
  }
}

/**
 * Allocates memory that is not zeroed, because only written bytes are read. The result is not a Buffer: `slice` of a Buffer returns a view
 * instead of a copy.
 */
const memoryOf = (size: number): Uint8Array => new Uint8Array(Buffer.allocUnsafeSlow(size).buffer)
