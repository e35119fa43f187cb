/** The chunks of a body. Small ones are put together as they come: a body that is sent byte by byte would else be as many objects. */

/** Bytes. */
const SMALL = 16_384
const SMALLEST_BLOCK = 1_024
const LARGEST_BLOCK = 65_536

const NOTHING = Buffer.alloc(0)

export class Gathered {
  readonly #parts: Buffer[] = []
  /** Of small chunks. */
  #block = NOTHING
  #filled = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  add(chunk: Buffer): void {
    const isKept = this.#size === 0 || chunk.length >= SMALL
    this.#size += chunk.length
    if (!isKept && chunk.length <= this.#block.length - this.#filled) {
      this.#filled += chunk.copy(this.#block, this.#filled)
      return
    }
    this.#parts.push(this.#block.subarray(0, this.#filled))
    if (isKept) this.#parts.push(chunk)
    this.#block = isKept
      ? NOTHING
      : Buffer.allocUnsafeSlow(Math.max(chunk.length, Math.min(LARGEST_BLOCK, Math.max(SMALLEST_BLOCK, this.#size))))
    this.#filled = isKept ? 0 : chunk.copy(this.#block)
  }

  bytes(): Buffer {
    const parts = [...this.#parts, this.#block.subarray(0, this.#filled)].filter(({ length }) => length > 0)
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
  }
}
