/** Says where and why a JSON text is refused. Slow and exact; called only for texts that were. https://www.rfc-editor.org/rfc/rfc8259 */

export type Fault = { readonly line: number; readonly column: number; readonly reason: string }

export function findFault(text: string): Fault {
  let at = 0
  try {
    skipSpace()
    value()
    skipSpace()
    return fault(at, at < text.length ? 'text after the end of the document' : 'it cannot be read')
  } catch (thrown) {
    if (thrown instanceof Stop) return fault(thrown.at, thrown.reason)
    throw thrown
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
      const name = string()
      if (name === '__proto__') throw new Stop(start, 'a property may not be named __proto__')
      if (seen.has(name)) throw new Stop(start, 'the same property twice in one object')
      seen.add(name)
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

  function string(): string {
    STRING.lastIndex = at
    const found = STRING.exec(text)
    if (found === null) throw new Stop(at, 'a string that does not end, or has a control character or a wrong escape in it')
    at = STRING.lastIndex
    return JSON.parse(found[0]) as string
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

  function fault(position: number, reason: string): Fault {
    const before = text.slice(0, position).split('\n')
    return { line: before.length, column: before.at(-1)!.length + 1, reason }
  }
}

const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
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
