import { describe, expect, it } from '@jest/globals'
import { guardsIn, markersIn, mutantOf, patternsWithoutTest } from './guards.ts'
import { applySplice } from './mutants.ts'

/** The guard `a` in a function, before and after its mutant. */
const around = (statement: string): string => `function f() {\nbefore(1)\n// guard: a\n${statement}\nafter(1)\n}`
const broken = (operator: string, statement: string): string => {
  const source = around(statement)
  return applySplice(mutantOf(guardsIn(`a | ${operator} | test/a`)[0]!, markersIn('a.ts', source)[0]!, source), source)
}

describe('guardsIn', () => {
  it('reads name, operator, number and tests', () => {
    const rows = '# comment\n\na-b | drop term 2 | test/a test/b\nc | return undefined | test/c'
    expect(guardsIn(rows)).toEqual([
      { name: 'a-b', operator: 'drop term', nth: 2, tests: ['test/a', 'test/b'] },
      { name: 'c', operator: 'return undefined', nth: 1, tests: ['test/c'] },
    ])
  })

  it.each([
    ['without tests', 'a | boundary |'],
    ['without an operator', 'a | test/a'],
    ['with an unknown operator', 'a | spoil | test/a'],
    ['with the number of the first mutant', 'a | boundary 1 | test/a'],
    ['that returns the name of a variable', 'a | return b | test/a'],
    ['with a name that no marker can have', 'a b | boundary | test/a'],
    ['with a fourth column', 'a | boundary | test/a | test/b'],
  ])('rejects a row %s', (_, row) => expect(() => guardsIn(`\n${row}`)).toThrow('guards.txt:2: "name | operator | tests" expected'))
})

describe('markersIn', () => {
  const marked = (source: string) => markersIn('a.ts', source).map(({ name, start, end }) => [name, source.slice(start, end)])

  it.each([
    ['a statement', '// guard: a\nif (b) { c() }', 'if (b) { c() }'],
    ['an element', 'b([\n// guard: a\nc.d,\ne])', 'c.d'],
    ['a property', 'b({\n// guard: a\nc: 1 })', 'c: 1'],
    ['a member of a class', 'class B {\n// guard: a\nc() {}\n}', 'c() {}'],
    ['an export below another comment', '// guard: a\n// Why.\nexport const b = 1', 'export const b = 1'],
  ])('finds %s', (_, source, text) => expect(marked(source)).toEqual([['a', text]]))

  it('finds two markers of one statement', () => {
    expect(marked('// guard: a\n// guard: b\nc()')).toEqual([
      ['a', 'c()'],
      ['b', 'c()'],
    ])
  })

  it.each(['b(c\n// guard: a\n.d)', '// guard: a'])('rejects a marker without a statement', (source) => {
    expect(() => markersIn('a.ts', source)).toThrow('no statement starts below the marker')
  })

  it.each(['// guard: a_b', '// guard: A', '//guard: a', '// guard: a (why)', '// Guard: a'])(
    'rejects the misspelt marker %s',
    (marker) => {
      expect(() => markersIn('a.ts', `b()\n${marker}\nc()`)).toThrow('a.ts:2: "// guard: name-in-kebab-case" expected')
    },
  )
})

describe('mutantOf', () => {
  it.each([
    ['remove statement', 'if (b) throw c', ';'],
    ['negate condition 2', 'if (b && c === d) e()', 'if (b && c !== d) e()'],
    ['boundary', 'b = c < d', 'b = c <= d'],
    ['drop term 2', 'b = c && d', 'b = d'],
    ['return undefined', 'if (b) throw c', 'return undefined'],
  ])('%s changes the marked statement', (operator, statement, changed) => expect(broken(operator, statement)).toBe(around(changed)))

  it('drops the marked element', () => {
    const source = 'a([b,\n// guard: c\nd])'
    const [guard] = guardsIn('c | drop element | test/a')
    expect(applySplice(mutantOf(guard!, markersIn('a.ts', source)[0]!, source), source)).toBe('a([b,\n// guard: c\n])')
  })

  it('rejects an operator that does not apply', () => {
    expect(() => broken('boundary', 'b()')).toThrow('a: boundary 1 does not apply to a.ts:4')
    expect(() => broken('drop term 3', 'b = c && d')).toThrow('a: drop term 3 does not apply to a.ts:4')
  })
})

describe('patternsWithoutTest', () => {
  it('returns patterns that no test file matches', () => {
    expect(patternsWithoutTest(['test/mutants/guards', 'test/mutants/guards.ts', 'test/nowhere'])).toEqual([
      'test/mutants/guards.ts',
      'test/nowhere',
    ])
  })
})
