/** Folding of texts for searches and matches. */
import { describe, expect, it } from '@jest/globals'
import { foldText } from '../../lambdas/search/text-folding.ts'

describe('folding', () => {
  it.each([
    ['Zoë  O’Brien ', 'zoe o’brien'],
    ['Straße', 'strasse'],
    ['Ångström Ærø', 'angstrom aero'],
    ['e\u0301\u0323 \u0323e\u0301', 'e e'],
    ['ΟΔΟΣ Ὀδυσσεύς', 'οδοσ οδυσσευσ'],
    ['ﾊﾟﾋﾞ ㎏', 'ハヒ kg'],
    ['김', '김'.normalize('NFKD')],
    ['شهاب', 'شهاب'],
  ])('removes case and marks of %j', (text, folded) => expect(foldText(text)).toBe(folded))

  it('takes no longer for a long sequence of marks than for letters', () => {
    // Sorting these marks would take minutes.
    expect(foldText(`A${'\u0301\u0323'.repeat(500_000)}b`)).toBe('ab')
  })
})
