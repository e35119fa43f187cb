import { describe, expect, it } from '@jest/globals'
import { findNearNames, suggestNames } from '../../lambdas/fhir/near-names.ts'

describe('Near names', () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ['brithdate', ['birthdate', 'gender'], ['birthdate']],
    ['Birthdate', ['birthdate'], ['birthdate']],
    ['$evrything', ['$everything', '$export'], ['$everything']],
    ['nam', ['name', 'nan', 'gender'], ['name', 'nan']],
    ['colour', ['code', 'status'], []],
    ['x', ['y'], ['y']],
    ['aaaa', ['aaab', 'aaac', 'aaad', 'aaae', 'aaab'], ['aaab', 'aaac', 'aaad']],
  ])('are found for %s among %j: %j', (text, names, expected) => expect(findNearNames(text, names)).toEqual(expected))

  it('become a question, or no text if there are none', () => {
    expect(suggestNames('nmae', ['name', 'gender'])).toBe('. Did you mean name?')
    expect(suggestNames('colour', ['name'])).toBe('')
    expect(suggestNames('a'.repeat(65), ['a'.repeat(65)])).toBe('')
  })
})
