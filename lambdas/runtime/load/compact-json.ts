/**
 * Goes through the bytes of a JSON text and copies them without the white space between tokens; it decodes only what it is asked for.
 * Numbers, literals and escapes are copied unseen: the reader of the copy judges them. https://www.rfc-editor.org/rfc/rfc8259
 */

/** Names worth telling, by their lengths. */
export type Names = readonly (readonly { readonly name: string; readonly bytes: Uint8Array }[])[]

export function namesOf(names: readonly string[]): Names {
  const longest = Math.max(...names.map((name) => name.length))
  return Array.from({ length: longest + 1 }, (_, length) =>
    names.filter((name) => name.length === length).map((name) => ({ name, bytes: Buffer.from(name) })),
  )
}

/** `level`: 1 for a property of the value itself, one more for each object and array around it. May consume the value of the property. */
export type Visit = (name: string, level: number) => void

/** Where the text is not what a method consumes, the method throws a SyntaxError. */
export class CompactJson {
  readonly copy: Buffer
  /** How much of `copy` is written. */
  length = 0
  readonly #bytes: Uint8Array
  readonly #names: Names
  #at = 0
  #depth = 0
  /** What may follow a value, for each object and array around this place. */
  readonly #afterValue = [NOTHING]

  constructor(bytes: Uint8Array, names: Names) {
    this.#bytes = bytes
    this.#names = names
    this.copy = Buffer.allocUnsafe(bytes.length)
    if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) this.#at = 3
  }

  /** `visit` is called for the known names in the value. */
  value(visit: Visit): void {
    const outside = this.#depth
    let expected = ANY_VALUE
    do {
      const token = this.#next(expected)
      if (token === STRING) {
        const start = this.length
        const isPlain = this.#string()
        const isName = (expected & LITERAL) === 0
        expected = isName ? this.#named(start, isPlain, visit, outside) : this.#after()
      } else if (token === COMMA) {
        this.#byte()
        expected = this.#after() === AFTER_MEMBER ? STRING : ANY_VALUE
      } else if (token === OBJECT || token === ARRAY) {
        this.#open(token)
        expected = token === OBJECT ? STRING | END_OF_OBJECT : ANY_VALUE | END_OF_ARRAY
      } else {
        if (token === LITERAL) this.#literal()
        else this.#close()
        expected = this.#after()
      }
    } while (this.#depth > outside)
  }

  /** `visit` has to consume an item. */
  array(visit: () => void): void {
    this.#next(ARRAY)
    this.#open(ARRAY)
    let token = this.#next(ANY_VALUE | END_OF_ARRAY)
    while (token !== END_OF_ARRAY) {
      visit()
      token = this.#next(COMMA | END_OF_ARRAY)
      if (token === COMMA) this.#byte()
    }
    this.#close()
  }

  /** Whether a value comes next that begins like this. */
  isAt(start: Uint8Array): boolean {
    this.#next(ANY_VALUE)
    return equals(start, this.#bytes, this.#at)
  }

  string(): string {
    this.#next(STRING)
    const start = this.length
    return this.#decoded(start, this.#string())
  }

  /** To be called when the text should be over. */
  finish(): void {
    this.#next(NOTHING)
  }

  /** Returns what is expected next. */
  #named(start: number, isPlain: boolean, visit: Visit, outside: number): number {
    const end = this.length
    this.#next(COLON)
    this.#byte()
    const name = isPlain ? this.#nameAt(start + 1, end - 1) : (JSON.parse(this.copy.toString('utf8', start, end)) as string)
    if (name === '') return ANY_VALUE
    const before = this.length
    visit(name, this.#depth - outside)
    return this.length === before ? ANY_VALUE : AFTER_MEMBER
  }

  #nameAt(start: number, end: number): string {
    const candidates = this.#names[end - start]
    if (candidates !== undefined) for (const { name, bytes } of candidates) if (equals(bytes, this.copy, start)) return name
    return ''
  }

  #decoded(start: number, isPlain: boolean): string {
    if (isPlain) return this.copy.toString('utf8', start + 1, this.length - 1)
    return JSON.parse(this.copy.toString('utf8', start, this.length)) as string
  }

  /** Copies a string up to its closing quote; true if it has no escapes. */
  #string(): boolean {
    const bytes = this.#bytes
    const copy = this.copy
    let at = this.#at
    let length = this.length
    let isPlain = true
    copy[length++] = QUOTE
    while (++at < bytes.length) {
      const c = bytes[at]!
      copy[length++] = c
      if (c === QUOTE) {
        this.#at = at + 1
        this.length = length
        return isPlain
      }
      if (c === BACKSLASH) {
        isPlain = false
        copy[length++] = bytes[++at]!
      }
    }
    throw this.#unexpected()
  }

  #literal(): void {
    const bytes = this.#bytes
    let at = this.#at
    for (; at < bytes.length && TOKENS[bytes[at]!] === LITERAL; at++) this.copy[this.length++] = bytes[at]!
    this.#at = at
  }

  #byte(): void {
    this.copy[this.length++] = this.#bytes[this.#at++]!
  }

  #open(token: number): void {
    this.#byte()
    this.#afterValue[++this.#depth] = token === OBJECT ? AFTER_MEMBER : AFTER_ITEM
  }

  #close(): void {
    this.#byte()
    this.#depth--
  }

  #after(): number {
    return this.#afterValue[this.#depth]!
  }

  /** The token that comes next; it has to be one of those that are expected. */
  #next(expected: number): number {
    const bytes = this.#bytes
    let at = this.#at
    let token = NOTHING
    for (; at < bytes.length; at++) {
      token = TOKENS[bytes[at]!]!
      if (token !== SPACE) break
    }
    if (at === bytes.length) token = NOTHING
    this.#at = at
    if ((token & expected) === 0) throw this.#unexpected()
    return token
  }

  #unexpected(): SyntaxError {
    return new SyntaxError(`Unexpected text at ${this.#at}`)
  }
}

function equals(part: Uint8Array, whole: Uint8Array, start: number): boolean {
  for (let i = 0; i < part.length; i++) if (part[i] !== whole[start + i]) return false
  return true
}

const QUOTE = 34
const BACKSLASH = 92

/** Tokens, as bits. */
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

/** The token that a byte begins. */
const TOKENS = new Uint8Array(256).fill(LITERAL)
for (const c of ' \t\n\r') TOKENS[c.charCodeAt(0)] = SPACE
const SINGLE = { '"': STRING, '{': OBJECT, '}': END_OF_OBJECT, '[': ARRAY, ']': END_OF_ARRAY, ':': COLON, ',': COMMA }
for (const [c, token] of Object.entries(SINGLE)) TOKENS[c.charCodeAt(0)] = token
