/** Parser of FHIRPath text to a syntax tree. http://hl7.org/fhirpath/N1/grammar.html */
import { type Token, tokenize, UnsupportedExpression } from './tokens.ts'

export type Ast =
  | { readonly kind: 'literal'; readonly value: string | number | boolean; readonly type: string }
  | { readonly kind: 'empty' }
  | { readonly kind: 'this' }
  | { readonly kind: 'environment'; readonly name: string }
  | { readonly kind: 'name'; readonly name: string }
  | CallNode
  | { readonly kind: 'dot'; readonly of: Ast; readonly step: NameNode | CallNode }
  | { readonly kind: 'index'; readonly of: Ast; readonly index: Ast }
  | { readonly kind: 'is' | 'as'; readonly of: Ast; readonly type: string }
  | { readonly kind: 'negative'; readonly of: Ast }
  | { readonly kind: 'operator'; readonly operator: string; readonly left: Ast; readonly right: Ast }

export type NameNode = { readonly kind: 'name'; readonly name: string }

/** Function call. `type`: type argument of is(), as() and ofType(). */
export type CallNode = { readonly kind: 'call'; readonly name: string; readonly args: readonly Ast[]; readonly type?: string }

const DEEPEST = 64
const MAX_TOKENS = 1000

/** Maximum characters of an expression. Longer expressions throw UnsupportedExpression. */
export const MAX_EXPRESSION_LENGTH = 10_000

/** Returns the syntax tree. Throws UnsupportedExpression if the text is not an expression that the compiler supports. */
export function parseExpression(text: string): Ast {
  if (text.length > MAX_EXPRESSION_LENGTH) throw new UnsupportedExpression('too long')
  const list = tokenize(text)
  if (list.length > MAX_TOKENS) throw new UnsupportedExpression('too long')
  let at = 0
  let depth = 0
  const tree = expression(0)
  if (at < list.length) throw new UnsupportedExpression(`unexpected ${list[at]!.text}`)
  return tree

  function expression(minimum: number): Ast {
    if (++depth > DEEPEST) throw new UnsupportedExpression('nested too deep')
    let left = postfix(primary())
    for (;;) {
      const token = list[at]
      if (token === undefined || (token.kind !== 'symbol' && token.kind !== 'word')) break
      const strength = STRENGTH[token.text]
      if (strength === undefined || strength <= minimum) break
      at++
      if (token.text === 'is' || token.text === 'as') left = { kind: token.text, of: left, type: typeName() }
      else left = { kind: 'operator', operator: token.text, left, right: expression(strength) }
    }
    depth--
    return left
  }

  function postfix(start: Ast): Ast {
    let of = start
    for (;;) {
      if (skip('.')) of = { kind: 'dot', of, step: nameOrCall() }
      else if (skip('[')) {
        of = { kind: 'index', of, index: expression(0) }
        expect(']')
      } else return of
    }
  }

  function primary(): Ast {
    const token = list[at]
    if (token === undefined) throw new UnsupportedExpression('the expression ends too early')
    if (token.kind === 'word' && (token.text === 'true' || token.text === 'false')) return literal(token.text === 'true', 'boolean')
    if (token.kind === 'word' || token.kind === 'quoted') return nameOrCall()
    if (token.kind === 'string' || token.kind === 'date') return literal(token.text, token.kind === 'date' ? 'dateTime' : 'string')
    if (token.kind === 'number') return literal(numberOf(token.text), token.text.includes('.') ? 'decimal' : 'integer')
    at++
    if (token.kind === 'environment') return { kind: 'environment', name: token.text }
    if (token.text === '$this') return { kind: 'this' }
    if (token.text === '{') return expect('}') ?? { kind: 'empty' }
    if (token.text === '-') return { kind: 'negative', of: postfix(primary()) }
    if (token.text !== '(') throw new UnsupportedExpression(`unexpected ${token.text}`)
    const inner = expression(0)
    expect(')')
    return inner
  }

  function literal(value: string | number | boolean, type: string): Ast {
    at++
    return { kind: 'literal', value, type }
  }

  function nameOrCall(): NameNode | CallNode {
    const { text: name, kind } = word()
    if (kind === 'quoted' || !skip('(')) return { kind: 'name', name }
    if (name === 'is' || name === 'as' || name === 'ofType') {
      const type = typeName()
      expect(')')
      return { kind: 'call', name, args: [], type }
    }
    const args: Ast[] = []
    if (!skip(')')) {
      do args.push(expression(0))
      while (skip(','))
      expect(')')
    }
    return { kind: 'call', name, args }
  }

  /** Returns a type name. `FHIR.Patient` and `System.String` lose their namespace; `Observation.component` keeps its path. */
  function typeName(): string {
    const parts = [word().text]
    while (skip('.')) parts.push(word().text)
    return (parts[0] === 'FHIR' || parts[0] === 'System') && parts.length > 1 ? parts.slice(1).join('.') : parts.join('.')
  }

  function word(): Token {
    const token = list[at++]
    if (token?.kind !== 'word' && token?.kind !== 'quoted')
      throw new UnsupportedExpression(`a name is expected, not ${token?.text ?? 'the end'}`)
    return token
  }

  function skip(text: string): boolean {
    const token = list[at]
    if (token?.kind !== 'symbol' || token.text !== text) return false
    at++
    return true
  }

  function expect(text: string): undefined {
    if (!skip(text)) throw new UnsupportedExpression(`'${text}' is expected`)
  }
}

const STRENGTH: Readonly<Record<string, number | undefined>> = Object.freeze(
  Object.assign(Object.create(null) as Record<string, number>, {
    implies: 1,
    or: 2,
    xor: 2,
    and: 3,
    in: 4,
    contains: 4,
    '=': 5,
    '~': 5,
    '!=': 5,
    '!~': 5,
    '<': 6,
    '>': 6,
    '<=': 6,
    '>=': 6,
    '|': 7,
    is: 8,
    as: 8,
    '+': 9,
    '-': 9,
    '&': 9,
    '*': 10,
    '/': 10,
    div: 10,
    mod: 10,
  }),
)

/** Returns a number, or a preserved decimal as in json.ts if the text would change: 1.0 must not become 1. */
const numberOf = (text: string): number | string => (String(Number(text)) === text ? Number(text) : `\u0000${text}`)
