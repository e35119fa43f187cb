import { describe, expect, it } from '@jest/globals'
import { applySplice, mutantsOf } from './mutants.ts'

/** The text after each mutant of the operator. */
const changed = (operator: string, source: string): readonly string[] =>
  mutantsOf('a.ts', source).flatMap((mutant) => (mutant.operator === operator ? applySplice(mutant, source) : []))

const inFunction = (text: string): string => `function f() { ${text} }`

describe('mutantsOf', () => {
  it.each<[operator: string, source: string, changed: readonly string[]]>([
    ['remove statement', 'go(1)', [';']],
    ['remove statement', 'this.a = 1', [';']],
    ['remove statement', inFunction('if (a) return b'), [inFunction(';')]],
    ['remove statement', 'if (a) { b = c; throw d }', [';', 'if (a) { ; throw d }', 'if (a) { b = c; ; }']],
    ['remove statement', 'if (a) throw b; else c()', ['if (a) throw b; else ;']],
    ['remove statement', 'try { a() } catch (b) { throw b }', ['try { ; } catch (b) { throw b }', 'try { a() } catch (b) { ; }']],
    ['remove statement', "'use strict'", []],
    ['remove statement', 'class A extends B { constructor() { super(1); a() } }', ['class A extends B { constructor() { super(1); ; } }']],
    ['negate condition', 'if (a) b()', ['if (!(a)) b()']],
    ['negate condition', 'if (!a) b()', ['if ((a)) b()']],
    ['negate condition', 'if (a === b) c()', ['if (a !== b) c()']],
    ['negate condition', 'while (a) b()', ['while (!(a)) b()']],
    ['negate condition', 'const b = a ? 1 : 2', ['const b = !(a) ? 1 : 2']],
    ['negate condition', 'const isB = a(1)', ['const isB = !(a(1))']],
    ['negate condition', 'const isB = (a: A) => a.c', ['const isB = (a: A) => !(a.c)']],
    ['negate condition', 'const b = a.filter((each) => each.c)', ['const b = a.filter((each) => !(each.c))']],
    ['negate condition', 'const b = a.map((each) => each.c)', []],
    ['negate condition', 'function f(): boolean { return a }', ['function f(): boolean { return !(a) }']],
    ['negate condition', 'async function f(): Promise<boolean> { return a }', ['async function f(): Promise<boolean> { return !(a) }']],
    ['negate condition', 'const f = (a: unknown): a is A => a.b', ['const f = (a: unknown): a is A => !(a.b)']],
    ['negate condition', 'function f(): string { return a }', []],
    ['boundary', 'b = a < 1', ['b = a <= 1']],
    ['boundary', 'b = (a) >= 1', ['b = (a) > 1']],
    ['swap logic', 'c = a && b', ['c = a || b']],
    ['swap logic', 'c = a ?? b', []],
    ['swap constant', 'a(true, 7, 0)', ['a(false, 7, 0)', 'a(true, 0, 0)', 'a(true, 7, 1)']],
    ['drop element', 'a([b, c])', ['a([c])', 'a([b, ])']],
    ['drop element', 'a([b, c,])', ['a([c,])', 'a([b, ])']],
    ['drop element', 'a({ b, ...c })', ['a({ ...c })', 'a({ b,  })']],
    ['drop element', 'a(b, ...c)', ['a(b, )']],
    ['drop term', 'c = a && b', ['c = a', 'c = b']],
    ['drop term', 'c = a ?? b', ['c = a']],
    ['drop term', 'c = a - b', ['c = a']],
    ['drop term', 'c = a === b', []],
    ['drop clause', "a('b = 1 AND c = :d')", ["a('b = 1')"]],
    [
      'drop clause',
      `a(\`WHERE b = 1 AND c IN (1, 2) AND d = \${e} ORDER BY f\`)`,
      [`a(\`WHERE b = 1 AND d = \${e} ORDER BY f\`)`, 'a(`WHERE b = 1 AND c IN (1, 2) ORDER BY f`)'],
    ],
    ['use input', 'b = a.filter(c)', ['b = a']],
    ['use input', 'b = a?.trim()', ['b = a']],
    ['use input', 'b = Math.min(a, 1)', ['b = (a)', 'b = (1)']],
    ['use input', 'c = a(b)', ['c = b']],
    ['use input', 'a(b)', []],
    ['use input', 'c = a(1)', []],
  ])('%s: changes %s', (operator, source, expected) => expect(changed(operator, source)).toEqual(expected))

  it('leaves types, imports and comments alone', () => {
    const source = `import { a } from './a.ts'
      export type B = { c: 1 | true, d: [e: 2] }
      interface F<G extends 3 = 3> { h?: G }
      // if (a < 1) return
      export { a }
      declare const i: 4 extends 5 ? true : false
      const j = a as 6
      function k(l?: 7): asserts l {}`
    expect(mutantsOf('a.ts', source)).toEqual([])
  })

  it('counts offsets and lines in a text that is not ASCII', () => {
    const source = "const a = 'ä😀'\nconst 名 = '😀'.length < 3"
    expect(mutantsOf('a.ts', source).map((mutant) => [mutant.line, applySplice(mutant, source)])).toEqual([
      [2, "const a = 'ä😀'\nconst 名 = '😀'.length <= 3"],
      [2, "const a = 'ä😀'\nconst 名 = '😀'.length < 0"],
    ])
  })

  it('has each changed text once, and only TypeScript', () => {
    const source = 'if (a === b) return'
    expect(() => mutantsOf('a.ts', source)).toThrow('a.ts: ')
    const within = inFunction('for (const b of [...c, d]) if (b.e && !b.f) return b.g.slice(1).concat(h)')
    const texts = mutantsOf('a.ts', within).map((mutant) => applySplice(mutant, within))
    expect(texts).toEqual([...new Set(texts)])
    expect(texts.length).toBeGreaterThan(10)
  })
})
