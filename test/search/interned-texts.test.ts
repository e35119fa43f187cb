import { describe, expect, it } from '@jest/globals'
import { cacheByCode, cacheByText } from '../../lambdas/search/interned-texts.ts'

describe('A cached result', () => {
  it('is computed once', () => {
    const made = cacheByText(2, (text) => ({ text }))
    expect(made('a')).toBe(made('a'))
    expect(made('b')).toEqual({ text: 'b' })
  })

  it('is computed again for too many or too long texts', () => {
    const made = cacheByText(2, (text) => ({ text }))
    const [first] = ['a', 'b', 'c'].map(made)
    expect(made('a')).not.toBe(first)
    expect(made('a')).toEqual(first)
    expect(made('x'.repeat(201))).not.toBe(made('x'.repeat(201)))
  })

  it('is separate per system and code', () => {
    const made = cacheByCode(2, (system, code) => ({ both: `${system}|${code}` }))
    expect(made('a', '1')).toBe(made('a', '1'))
    expect([made('a', '1'), made('b', '1'), made('a', '1')].map(({ both }) => both)).toEqual(['a|1', 'b|1', 'a|1'])
  })
})
