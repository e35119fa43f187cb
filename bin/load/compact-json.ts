/**
 * Scans the bytes of a JSON text and copies them without the white space between tokens. It decodes only requested strings. Numbers,
 * literals and escapes are copied unchecked: the reader of the copy checks them. https://www.rfc-editor.org/rfc/rfc8259
 */

/** Property names to recognize, indexed by length. */
export type NamesByLength = readonly (readonly { readonly name: string; readonly bytes: Uint8Array }[])[]

export function groupNamesByLength(names: readonly string[]): NamesByLength {
  const longest = Math.max(...names.map((name) => name.length))
  return Array.from({ length: longest + 1 }, (_, length) =>
    names.filter((name) => name.length === length).map((name) => ({ name, bytes: Buffer.from(name) })),
  )
}

/**
 * Called for a recognized name. `level`: 1 for a property of the value itself, one more for each enclosing object and array. The callback
 * may consume the property's value.
 */
export type VisitProperty = (name: string, level: number) => void

/** Scanner with a position in the text. Its methods throw a SyntaxError if the text there is not valid for them. */
export class CompactJson {
  readonly copy: Buffer
  /** Number of bytes written to `copy`. */
  length = 0
  readonly #bytes: Uint8Array
  readonly #names: NamesByLength
  readonly #from: DataView
  readonly #to: DataView
  #at = 0
  #depth = 0
  /** Tokens that may follow a value, for each object and array around the position. */
  readonly #afterValue = [NOTHING]
  /** Whether the string copied last has no escapes. */
  #isPlain = true

  /** `copy`: buffer at least as long as the bytes. */
  constructor(bytes: Uint8Array, copy: Buffer, names: NamesByLength) {
    this.copy = copy
    this.#bytes = bytes
    this.#names = names
    this.#from = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    this.#to = new DataView(copy.buffer, copy.byteOffset, copy.length)
    if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) this.#at = 3
  }

  /** Consumes a value. Calls `visit` for the recognized names in it. */
  value(visit: VisitProperty): void {
    const outside = this.#depth
    let at = this.#at
    let length = this.length
    let expected = ANY_VALUE
    let name = 0
    do {
      at = this.#afterSpace(at)
      const token = this.#tokenAt(at, expected)
      if (token === STRING || token === LITERAL) {
        const size = token === STRING ? this.#copyString(at, length) : this.#copyLiteral(at, length)
        expected = (expected & LITERAL) === 0 ? COLON : this.#after()
        name = length
        at += size
        length += size
      } else {
        this.copy[length++] = this.#bytes[at++]!
        expected = this.#next(token)
        const property = token === COLON ? this.#nameAt(name, length - 1) : ''
        if (property !== '') {
          this.#moveTo(at, length)
          visit(property, this.#depth - outside)
          if (this.length > length) expected = this.#after()
          at = this.#at
          length = this.length
        }
      }
    } while (this.#depth > outside)
    this.#moveTo(at, length)
  }

  /** Consumes an array. Every call of `visit` must consume one item. */
  array(visit: () => void): void {
    this.#take(ARRAY)
    let token = this.#look(ANY_VALUE | END_OF_ARRAY)
    while (token !== END_OF_ARRAY) {
      visit()
      token = this.#look(COMMA | END_OF_ARRAY)
      if (token === COMMA) this.#take(COMMA)
    }
    this.#take(END_OF_ARRAY)
  }

  /** Whether the next value begins with these bytes. */
  isAt(start: Uint8Array): boolean {
    this.#look(ANY_VALUE)
    return equals(start, this.#bytes, this.#at)
  }

  string(): string {
    const start = this.length
    this.#take(STRING)
    return this.#decoded(start, this.length)
  }

  /** Throws if the text does not end here. */
  finish(): void {
    this.#look(NOTHING)
  }

  /** Returns the next token without consuming it. Throws if it is not an expected token. */
  #look(expected: number): number {
    this.#at = this.#afterSpace(this.#at)
    return this.#tokenAt(this.#at, expected)
  }

  /** Consumes and copies the next token. Throws if it is not an expected token. */
  #take(expected: number): void {
    const token = this.#look(expected)
    const size = this.#copyToken(token, this.#at, this.length)
    this.#moveTo(this.#at + size, this.length + size)
    this.#next(token)
  }

  #moveTo(at: number, length: number): void {
    this.#at = at
    this.length = length
  }

  /**
   * Returns the recognized name that a copied string equals, or an empty text. A string with escapes is returned decoded, recognized or
   * not.
   */
  #nameAt(start: number, end: number): string {
    if (!this.#isPlain) return this.#decoded(start, end)
    const candidates = this.#names[end - start - 2]
    if (candidates !== undefined) for (const { name, bytes } of candidates) if (equals(bytes, this.copy, start + 1)) return name
    return ''
  }

  #decoded(start: number, end: number): string {
    if (this.#isPlain) return this.copy.toString('utf8', start + 1, end - 1)
    return JSON.parse(this.copy.toString('utf8', start, end)) as string
  }

  #afterSpace(start: number): number {
    const bytes = this.#bytes
    const last = bytes.length - 4
    let at = start
    while (at < bytes.length && TOKENS[bytes[at]!] === SPACE) {
      // In an indented text most white space is at line starts, so skip four spaces at a time there.
      const isLine = bytes[at++] === LINE_FEED
      while (isLine && at <= last && this.#from.getInt32(at) === SPACES) at += 4
    }
    return at
  }

  #tokenAt(at: number, expected: number): number {
    const token = at < this.#bytes.length ? TOKENS[this.#bytes[at]!]! : NOTHING
    if ((token & expected) === 0) throw new SyntaxError(`Unexpected text at ${at}`)
    return token
  }

  /** Copies a token from an offset of the text to an offset of the copy. Returns its size in bytes. */
  #copyToken(token: number, from: number, to: number): number {
    if (token === STRING) return this.#copyString(from, to)
    if (token === LITERAL) return this.#copyLiteral(from, to)
    this.copy[to] = this.#bytes[from]!
    return 1
  }

  /** Copies a string: four bytes at a time up to the first quote or escape, then single bytes. Returns its size in bytes. */
  #copyString(from: number, to: number): number {
    const bytes = this.#bytes
    const last = bytes.length - 4
    this.#isPlain = true
    this.copy[to] = QUOTE
    let size = 1
    for (; from + size <= last; size += 4) {
      const four = this.#from.getInt32(from + size)
      if (((zeros(four ^ QUOTES) | zeros(four ^ BACKSLASHES)) & HIGHEST_BITS) !== 0) break
      this.#to.setInt32(to + size, four)
    }
    for (let c = 0; c !== QUOTE; size++) {
      c = bytes[from + size]!
      this.copy[to + size] = c
      if (c === BACKSLASH) {
        this.#isPlain = false
        size++
        this.copy[to + size] = bytes[from + size]!
      }
      if (from + size >= bytes.length) throw new SyntaxError('Unexpected end')
    }
    return size
  }

  #copyLiteral(from: number, to: number): number {
    const bytes = this.#bytes
    let size = 0
    for (; from + size < bytes.length && TOKENS[bytes[from + size]!] === LITERAL; size++) this.copy[to + size] = bytes[from + size]!
    return size
  }

  #after(): number {
    return this.#afterValue[this.#depth]!
  }

  #next(token: number): number {
    if (token === COLON) return ANY_VALUE
    if (token === COMMA) return this.#after() === AFTER_MEMBER ? STRING : ANY_VALUE
    if (token === OBJECT) {
      this.#afterValue[++this.#depth] = AFTER_MEMBER
      return STRING | END_OF_OBJECT
    }
    if (token === ARRAY) {
      this.#afterValue[++this.#depth] = AFTER_ITEM
      return ANY_VALUE | END_OF_ARRAY
    }
    if (token === END_OF_OBJECT || token === END_OF_ARRAY) this.#depth--
    return this.#after()
  }
}

function equals(part: Uint8Array, whole: Uint8Array, start: number): boolean {
  for (let i = 0; i < part.length; i++) if (part[i] !== whole[start + i]) return false
  return true
}

/** Sets the highest bit of each byte of `four` that is 0. Under HIGHEST_BITS the result is 0 only if no byte is 0. */
const zeros = (four: number): number => (four - 0x01010101) & ~four

const LINE_FEED = 10
const QUOTE = 34
const BACKSLASH = 92

/** One byte repeated four times, for comparisons of four bytes at once. */
const SPACES = 0x20202020
const QUOTES = 0x22222222
const BACKSLASHES = 0x5c5c5c5c
const HIGHEST_BITS = 0x80808080

/** Tokens as bits, so that a set of tokens is a number. */
const SPACE = 0
const STRING = 1
const OBJECT = 2
const END_OF_OBJECT = 4
const ARRAY = 8
const END_OF_ARRAY = 16
const COLON = 32
const COMMA = 64
const LITERAL = 128
const NOTHING = 256
const ANY_VALUE = STRING | OBJECT | ARRAY | LITERAL
const AFTER_MEMBER = COMMA | END_OF_OBJECT
const AFTER_ITEM = COMMA | END_OF_ARRAY

/** Token of each possible first byte. */
const TOKENS = new Uint8Array(256).fill(LITERAL)
for (const c of ' \t\n\r') TOKENS[c.charCodeAt(0)] = SPACE
const SINGLE = { '"': STRING, '{': OBJECT, '}': END_OF_OBJECT, '[': ARRAY, ']': END_OF_ARRAY, ':': COLON, ',': COMMA }
for (const [c, token] of Object.entries(SINGLE)) TOKENS[c.charCodeAt(0)] = token
