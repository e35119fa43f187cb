/**
 * Memory that is used again and again: what is taken replaces what was taken before. With new memory for every file and Bundle the
 * collector would go through everything each time some tens of megabytes have been thrown away.
 */
export class ReusedBuffer {
  #bytes = Buffer.alloc(0)

  /** So many bytes of any content, but for the first `kept`, which are those of the last take. */
  take(size: number, kept = 0): Buffer {
    if (size > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(size + (size >>> 2))
      this.#bytes.copy(larger, 0, 0, kept)
      this.#bytes = larger
    }
    return this.#bytes.subarray(0, size)
  }
}
