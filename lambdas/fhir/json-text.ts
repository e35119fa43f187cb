/** Finds its way through a JSON text without making a tree of it: for texts that are passed on as they are. It passes over much that is not JSON. */
export class JsonText {
  readonly text: string
  /** Where the next value begins, or white space before it. */
  at: number

  constructor(text: string, at = 0) {
    this.text = text
    this.at = at
  }

  /** Calls `visit` for each property; it has to consume the value. SyntaxError where there is no object. */
  object(visit: (name: string) => void): void {
    this.#list('{', '}', () => {
      const name = this.string()
      this.#expect(':')
      visit(name)
    })
  }

  /** Calls `visit` for each item; it has to consume it. SyntaxError where there is no array. */
  array(visit: () => void): void {
    this.#list('[', ']', visit)
  }

  string(): string {
    if (this.#next() !== '"') throw this.#unexpected()
    const start = this.at
    this.at = endOfString(this.text, start) + 1
    const inside = this.text.slice(start + 1, this.at - 1)
    return inside.includes('\\') ? (JSON.parse(this.text.slice(start, this.at)) as string) : inside
  }

  /** Consumes a value and gives its text. */
  value(): string {
    this.#next()
    const start = this.at
    let depth = 0
    for (; this.at < this.text.length; this.at++) {
      const c = this.text.charCodeAt(this.at)
      if (c === QUOTE) this.at = endOfString(this.text, this.at)
      else if (c === OBJECT || c === ARRAY) depth++
      else if (c === END_OF_OBJECT || c === END_OF_ARRAY) {
        if (depth === 0) break
        depth--
      } else if (depth === 0 && c === COMMA) break
    }
    if (depth > 0 || this.at > this.text.length) throw this.#unexpected()
    return this.text.slice(start, this.at).trimEnd()
  }

  #list(open: string, close: string, visit: () => void): void {
    this.#expect(open)
    if (this.#next() === close) return void this.at++
    do visit()
    while (this.#next() === ',' && ++this.at)
    this.#expect(close)
  }

  #expect(character: string): void {
    if (this.#next() !== character) throw this.#unexpected()
    this.at++
  }

  #next(): string | undefined {
    while (this.text.charCodeAt(this.at) <= SPACE) this.at++
    return this.text[this.at]
  }

  #unexpected(): SyntaxError {
    return new SyntaxError(`Unexpected text at ${this.at}`)
  }
}

const SPACE = 32
const QUOTE = 34
const COMMA = 44
const ARRAY = 91
const END_OF_ARRAY = 93
const OBJECT = 123
const END_OF_OBJECT = 125

/** Where the string that begins at `start` has its closing quote; the length of the text when it has none. */
export function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text.charCodeAt(end - 1 - backslashes) === 92) backslashes++
    if (backslashes % 2 === 0) return end
  }
  return text.length
}
