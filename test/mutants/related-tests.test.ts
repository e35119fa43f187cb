import { describe, expect, it } from '@jest/globals'
import { RelatedTests, readImports } from './related-tests.ts'

const SOURCE = 'lambdas/auth/refresh-tokens.ts'
const imports = new Map([
  ['lambdas/auth/token.ts', [SOURCE]],
  [SOURCE, ['lambdas/auth/token.ts']],
  ['test/auth/refresh-tokens.test.ts', ['lambdas/auth/token.ts']],
  ['test/auth/user-tokens.test.ts', [SOURCE, 'test/fixtures/a.ts']],
  ['test/auth/sessions.test.ts', [SOURCE]],
  ['test/api/1.test.ts', [SOURCE, 'lambdas/fhir/b.ts']],
  ['test/api/2.test.ts', [SOURCE]],
  ['test/api/3.test.ts', ['test/fixtures/a.ts']],
  ['test/api/4.test.ts', ['test/fixtures/a.ts']],
  ['test/fixtures/a.ts', ['lambdas/auth/token.ts']],
])
const tests = new Set([...imports.keys()].filter((path) => path.endsWith('.test.ts')))

describe('RelatedTests', () => {
  const related = new RelatedTests(imports, tests)

  it('takes the test of the same name first, then near ones, then small ones, and at most six', () => {
    expect(related.of(SOURCE)).toEqual([
      ['test/auth/refresh-tokens.test.ts', 'test/auth/user-tokens.test.ts'],
      ['test/auth/sessions.test.ts', 'test/api/2.test.ts', 'test/api/1.test.ts', 'test/api/3.test.ts'],
    ])
  })

  it('takes tests of the guards of the file first, and tests of its name in any folder', () => {
    const guarding = new Map([[SOURCE, ['test/api/4', 'test/api/long']]])
    const more = new Map([...imports, ['test/api/refresh-tokens.test.ts', ['test/fixtures/a.ts']]])
    const [first] = new RelatedTests(more, tests.union(new Set(['test/api/refresh-tokens.test.ts'])), guarding).of(SOURCE)
    expect(first).toEqual(['test/auth/refresh-tokens.test.ts', 'test/api/refresh-tokens.test.ts'])
    const second = new RelatedTests(imports, tests, guarding).of(SOURCE)
    expect(second[0]).toEqual(['test/auth/refresh-tokens.test.ts', 'test/api/4.test.ts'])
  })

  it('takes no test that may not run', () => {
    expect(new RelatedTests(imports, new Set(['test/api/3.test.ts'])).of(SOURCE)).toEqual([['test/api/3.test.ts']])
  })

  it('returns nothing for a file that no test reaches', () => expect(related.of('lib/a.ts')).toEqual([]))
})

describe('readImports', () => {
  it('finds imports and the modules of threads', () => {
    const found = readImports()
    expect(found.get('test/mutants/related-tests.test.ts')).toContain('test/mutants/related-tests.ts')
    expect(found.get('lambdas/runtime/embedded/exports.ts')).toContain('lambdas/runtime/threads/export/export-thread.ts')
  })
})
