/**
 * Chunks of a request or response body. Small chunks are copied into shared blocks: a body sent byte by byte would otherwise become one
 * object per byte.
 */

/**
 * Minimum bytes of a chunk that is stored without a copy. Smaller chunks are copied into a shared block, except the first chunk of a body.
 */
const SMALL = 16_384
const SMALLEST_BLOCK = 1_024
const LARGEST_BLOCK = 65_536

const NOTHING = Buffer.alloc(0)

export class ChunkBuffer {
  readonly #parts: Uint8Array[] = []
  /** Current block for small chunks. Its first `#filled` bytes are in use. */
  #block = NOTHING
  #filled = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  add(chunk: Uint8Array): void {
    const isPassedThrough = this.#size === 0 || chunk.length >= SMALL
    this.#size += chunk.length
    if (!isPassedThrough && chunk.length <= this.#block.length - this.#filled) {
      this.#fill(chunk)
      return
    }
    if (this.#filled > 0) this.#parts.push(this.#block.subarray(0, this.#filled))
    this.#block = this.#block.subarray(this.#filled)
    this.#filled = 0
    if (isPassedThrough) return void this.#parts.push(chunk)
    this.#block = Buffer.allocUnsafeSlow(Math.max(chunk.length, Math.min(LARGEST_BLOCK, Math.max(SMALLEST_BLOCK, this.#size))))
    this.#fill(chunk)
  }

  /** Returns a body of up to 64 KiB in one piece. A longer body stays in its chunks, to avoid a copy. */
  pieces(): readonly Uint8Array[] {
    return this.#size <= LARGEST_BLOCK ? [this.bytes()] : this.#filledParts()
  }

  bytes(): Uint8Array {
    const parts = this.#filledParts()
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
  }

  #filledParts(): readonly Uint8Array[] {
    return this.#filled === 0 ? this.#parts : [...this.#parts, this.#block.subarray(0, this.#filled)]
  }

  #fill(chunk: Uint8Array): void {
    this.#block.set(chunk, this.#filled)
    this.#filled += chunk.length
  }
}
