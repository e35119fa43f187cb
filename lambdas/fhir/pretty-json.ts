/**
 * Indented JSON with two spaces per level, as JSON.stringify writes it, and a line end. It is created from bytes in chunks, without a tree.
 */

const [QUOTE, BACKSLASH, COMMA, COLON, SPACE, LINE] = [0x22, 0x5c, 0x2c, 0x3a, 0x20, 0x0a]
const [BRACE, BRACKET, CLOSING_BRACE, CLOSING_BRACKET] = [0x7b, 0x5b, 0x7d, 0x5d]

/** Approximate size of a chunk in bytes. */
const SIZE = 65_536

export function* indentJson(parts: Iterable<Uint8Array>): Generator<Uint8Array, void> {
  const indenter = new Indenter()
  for (const part of parts)
    for (let at = 0; at < part.length; ) {
      at = indenter.take(part, at)
      if (at < part.length) yield indenter.flush()
    }
  indenter.end()
  yield indenter.flush()
}

class Indenter {
  #out = Buffer.allocUnsafe(SIZE)
  #length = 0
  #depth = 0
  #isText = false
  #isEscaped = false
  /** Whether an object or array was opened and has no content yet. */
  #isOpen = false

  /** Processes bytes from index `at` on while the chunk has room. Returns the index of the first byte that is not processed. */
  take(part: Uint8Array, at: number): number {
    for (let i = at; i < part.length; i++) {
      // Stop if the chunk has no room for the longest output of one byte.
      if (this.#length + 2 * this.#depth + 5 > this.#out.length) return i
      if (this.#isText) this.#text(part[i]!)
      else this.#structure(part[i]!)
    }
    return part.length
  }

  flush(): Uint8Array {
    const output = this.#out.subarray(0, this.#length)
    this.#out = Buffer.allocUnsafe(SIZE + 2 * this.#depth)
    this.#length = 0
    return output
  }

  end(): void {
    this.#put(LINE)
  }

  #text(byte: number): void {
    this.#put(byte)
    if (this.#isEscaped) this.#isEscaped = false
    else if (byte === BACKSLASH) this.#isEscaped = true
    else if (byte === QUOTE) this.#isText = false
  }

  #structure(byte: number): void {
    if (byte === SPACE || (byte >= 0x09 && byte <= 0x0d)) return
    if (byte === CLOSING_BRACE || byte === CLOSING_BRACKET) {
      this.#depth--
      if (!this.#isOpen) this.#line()
      this.#isOpen = false
    } else if (this.#isOpen) {
      this.#isOpen = false
      this.#line()
    }
    this.#put(byte)
    if (byte === QUOTE) this.#isText = true
    else if (byte === COMMA) this.#line()
    else if (byte === COLON) this.#put(SPACE)
    else if (byte === BRACE || byte === BRACKET) {
      this.#depth++
      this.#isOpen = true
    }
  }

  #line(): void {
    this.#put(LINE)
    this.#out.fill(SPACE, this.#length, this.#length + 2 * this.#depth)
    this.#length += 2 * this.#depth
  }

  #put(byte: number): void {
    this.#out[this.#length++] = byte
  }
}
