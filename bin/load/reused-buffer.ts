/**
 * Memory that is reused: each `take` overwrites the bytes of the previous one. New memory for every file and Bundle would cause many
 * garbage collections, each of the complete heap.
 */
export class ReusedBuffer {
  #bytes = Buffer.alloc(0)

  /** Returns `size` bytes of undefined content. `preserved`: number of leading bytes that are preserved from the last take. */
  take(size: number, preserved = 0): Buffer {
    if (size > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(size + (size >>> 2))
      this.#bytes.copy(larger, 0, 0, preserved)
      this.#bytes = larger
    }
    return this.#bytes.subarray(0, size)
  }
}
