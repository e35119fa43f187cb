/** The language of test titles: plain statements about the subject of `describe`. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'

/** Folders that allow few long titles. */
const SHORT = ['access', 'api', 'auth', 'contracts', 'http', 'interactions', 'search']

const WORDS =
  /\b(?:nobody|somebody|anybody|who|whom|whose|whoever|whomever|what|told|tells|the one that|that which|anew|is asked|counts no more)\b/i
const OPENING = /^(?:what|who|whose|of|by|as|that|those|nor|and|but)\b/i
const LONG = 15
const LONG_SHARE = 0.1

type Title = { readonly folder: string; readonly where: string; readonly isDescribe: boolean; readonly text: string }

/** Patterns of a template and of a value in a template. They contain each other, up to `depth` times. */
const template = (depth: number): string => String.raw`\x60(?:[^\x60\\$]|\\.|\$(?!\{)|\$\{${value(depth)}\})*\x60`
const value = (depth: number): string =>
  String.raw`(?:[^{}\x60']|'[^'\n]*'${depth === 0 ? '' : String.raw`|\{${value(depth - 1)}\}|${template(depth - 1)}`})*`
const COMMENT = String.raw`//.*|/\*[^]*?\*/`
const STRING = String.raw`'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|${template(4)}`
const REGEXP = String.raw`(?<=(?:^|[(,=:[!&|?{};]|=>|\breturn)\s*)/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/`
const LITERAL = new RegExp(`${COMMENT}|${STRING}|${REGEXP}`, 'gm')
/** Other names of `describe` and `it` in a file. */
const ALIAS =
  /\bdescribe as (?<describe>\w+)|\b(?:it|test) as (?<it>\w+)|\bconst (?<it>\w+) = (?:.*\bit\.skip|it|test|itRequiring\(.*\))$/gm

/** `it`, also `itRequiring('x', …)(` and `(isThere ? describe : describe.skip)(`. No title: `const itHere = itRequiring('x', …)`. */
function callsIn(code: string): readonly { readonly isDescribe: boolean; readonly end: number }[] {
  const aliases = [...code.matchAll(ALIAS)].map(({ groups }) => groups!)
  const describes = ['describe', 'fdescribe', 'xdescribe', ...aliases.flatMap(({ describe: name }) => name ?? [])]
  const its = ['[fx]?test', '[fx]?it', 'it[A-Z]\\w*', ...aliases.flatMap(({ it: name }) => name ?? [])]
  const modes = String.raw`(?:\.(?:each|only|skip|failing|concurrent))*`
  const calls = new RegExp(String.raw`(?<![\w$.]|= )(${[...describes, ...its].join('|')})${modes}(?=\s*[(<]|\)\()`, 'g')
  return [...code.matchAll(calls)].map(({ 0: call, 1: name, index }) => ({
    isDescribe: describes.includes(name!),
    end: index + call.length,
  }))
}

/** Returns the code with a space for each character of comments, strings, templates and regular expressions. */
function withoutLiterals(path: string, source: string): string {
  const code = source.replace(LITERAL, (literal) => literal.replace(/[^\n]/g, ' '))
  const count = (brackets: RegExp): number => code.match(brackets)?.length ?? 0
  if (count(/[([{]/g) !== count(/[)\]}]/g)) throw new Error(`test/${path}: brackets are not balanced`)
  return code
}

/** Returns the position of the bracket that opens the arguments: behind type arguments, in which `=>` is no bracket. */
function argumentsFrom(code: string, start: number): number {
  for (let at = start, depth = 0; at < code.length; at++) {
    if (depth === 0 && code[at] === '(') return at
    if (code[at] === '<') depth++
    if (code[at] === '>' && code[at - 1] !== '=') depth--
  }
  throw new Error('type arguments without a call')
}

/** Returns the position of the bracket that closes the one at `start`, and of the comma behind the first argument, if there is one. */
function endsOf(code: string, start: number): { readonly closed: number; readonly comma: number | undefined } {
  let comma: number | undefined
  for (let at = start, depth = 0; at < code.length; at++) {
    if (/[([{]/.test(code[at]!)) depth++
    if (/[)\]}]/.test(code[at]!) && --depth === 0) return { closed: at, comma }
    if (code[at] === ',' && depth === 1) comma ??= at
  }
  throw new Error('a bracket is not closed')
}

/** Returns the literals in the first argument of `it`, `test` and `describe`, for a table or a condition of the call that follows it. */
function titlesOf(path: string, source: string): readonly Title[] {
  const code = withoutLiterals(path, source)
  return callsIn(code).flatMap(({ isDescribe, end }) => {
    let from = argumentsFrom(code, code[end] === ')' ? end + 1 : end)
    const { closed } = endsOf(code, from)
    if (code[closed + 1] === '(') from = closed + 1
    const { comma } = endsOf(code, from)
    if (comma === undefined) return []
    return [...source.slice(from, comma).matchAll(LITERAL)].flatMap(({ 0: literal, index: at }) => {
      if (!/^['"`]/.test(literal)) return []
      const where = `test/${path}:${source.slice(0, from + at).split('\n').length}`
      const folder = path.includes('/') ? path.split('/')[0]! : '.'
      return [{ folder, where, isDescribe, text: literal.slice(1, -1) }]
    })
  })
}

const titles = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .toSorted()
  .flatMap((path) => titlesOf(path, readFileSync(join('test', path), 'utf8')))
const folders = Map.groupBy(titles, ({ folder }) => folder)
const isPlain = ({ isDescribe, text }: Title): boolean => {
  const words = text.replace(/\$\{[^}]*\}/g, '…')
  return !WORDS.test(words) && (isDescribe || !OPENING.test(words))
}
const located = ({ where, text }: Title): string => `${where}: ${text}`

describe('Titles of tests', () => {
  it('are found after tables, types, conditions and comments', () => {
    const sample = `describe.each<[string, (url: string) => string]>([['it(', (url) => \`\${url}')\`]])('first', () => {
      it.each([
        ['a', /[/'(]/],
        // it('no title', …)
      ])('second %s', () => {})
      itRequiring('curl', works('curl'))(
        \`third \${names.map((name) => \`\${name}(\`).join('')}\`,
        async () => {},
      )
      const judging = isThere ? it : it.skip
      judging(isLong ? 'fourth' : 'fifth', () => {})
      ;(isThere ? it : it.skip)('sixth', () => {})
      const itHere = itRequiring('no title', isThere)
      expect(test('no title')).toBe(1 / 2)
      itHere('seventh', () => {})
      const reading = it
      reading('eighth', () => {})
      it.each\`a\n\${1}\`('ninth', () => {})
      xit ('tenth', () => {})
      running('eleventh', () => {})
    })
    import { test as running } from '@jest/globals'`
    const found = titlesOf('api/sample.ts', sample).map(({ where, text }) => `${where.split(':')[1]} ${text.slice(0, 6)}`)
    expect(found).toEqual([
      '1 first',
      '5 second',
      '7 third ',
      '11 fourth',
      '11 fifth',
      '12 sixth',
      '15 sevent',
      '17 eighth',
      '19 ninth',
      '20 tenth',
      '21 eleven',
    ])
  })

  it('are plain', () => {
    expect(titles.filter((title) => !isPlain(title)).map(located)).toEqual([])
  })

  it('have at most 15 words, except for one of ten in a folder', () => {
    const faults = SHORT.flatMap((folder) => {
      const all = folders.get(folder)!
      const long = all.filter(({ text }) => text.split(/\s+/).length > LONG).map(located)
      return long.length > all.length * LONG_SHARE ? [`${folder} has ${long.length} long titles of ${all.length}:`, ...long] : []
    })
    expect(faults).toEqual([])
  })
})
