/**
 * Location and reason of an error in a JSON text. This parser is slow and exact; it runs only on rejected texts.
 * https://www.rfc-editor.org/rfc/rfc8259
 */

export type JsonFault = { readonly line: number; readonly column: number; readonly reason: string }

export function findJsonFault(text: string): JsonFault {
  let at = 0
  try {
    skipSpace()
    value()
    skipSpace()
    return fault(at, at < text.length ? 'text after the end of the document' : 'it cannot be read')
  } catch (error) {
    if (error instanceof Stop) return fault(error.at, error.reason)
    throw error
  }

  function value(): void {
    const c = text[at]
    if (c === '{') members()
    else if (c === '[') items()
    else if (c === '"') string()
    else literal()
  }

  function members(): void {
    const seen = new Set<string>()
    list('}', () => {
      const start = at
      if (text[at] !== '"') throw new Stop(at, 'a property name in double quotes is expected')
      const property = name()
      if (property === '__proto__') throw new Stop(start, 'a property may not be named __proto__')
      if (seen.has(property)) throw new Stop(start, 'the same property twice in one object')
      seen.add(property)
      skipSpace()
      expect(':')
      skipSpace()
      value()
    })
  }

  function items(): void {
    list(']', value)
  }

  function list(close: string, item: () => void): void {
    at++
    skipSpace()
    if (text[at] === close) {
      at++
      return
    }
    for (;;) {
      item()
      skipSpace()
      if (text[at] === close) break
      expect(',')
      skipSpace()
    }
    at++
  }

  function name(): string {
    const start = at
    string()
    return JSON.parse(text.slice(start, at)) as string
  }

  /**
   * Skips a string character by character. A pattern would store a position to backtrack to for each of possibly millions of characters.
   */
  function string(): void {
    const start = at++
    for (let c = text.charCodeAt(at); c !== QUOTE; c = text.charCodeAt(at)) {
      const length = c === BACKSLASH ? lengthOfEscape() : c >= SPACE ? 1 : 0
      if (length === 0) throw new Stop(start, 'a string that does not end, or has a control character or a wrong escape in it')
      at += length
    }
    at++
  }

  /** Returns the length of the escape at the current position, or 0 if it is invalid. */
  function lengthOfEscape(): number {
    if (text[at + 1] !== 'u') return '"\\/bfnrt'.includes(text[at + 1] ?? ' ') ? 2 : 0
    return /^[0-9a-fA-F]{4}$/.test(text.slice(at + 2, at + 6)) ? 6 : 0
  }

  function literal(): void {
    LITERAL.lastIndex = at
    if (LITERAL.exec(text) === null) throw new Stop(at, at < text.length ? 'a value is expected' : 'the document ends too early')
    at = LITERAL.lastIndex
  }

  function expect(c: string): void {
    if (text[at] !== c) throw new Stop(at, at < text.length ? `'${c}' is expected` : 'the document ends too early')
    at++
  }

  function skipSpace(): void {
    while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at++
  }

  function fault(position: number, reason: string): JsonFault {
    let line = 1
    let start = 0
    for (let end = text.indexOf('\n'); end >= 0 && end < position; end = text.indexOf('\n', start)) {
      line++
      start = end + 1
    }
    return { line, column: position - start + 1, reason }
  }
}

const QUOTE = 34
const BACKSLASH = 92
const SPACE = 32

const LITERAL = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y

class Stop extends Error {
  readonly at: number
  readonly reason: string
  constructor(at: number, reason: string) {
    super(reason)
    this.at = at
    this.reason = reason
  }
}
