import { describe, expect, it } from '@jest/globals'
import { isIn, spread } from './choice.ts'
import type { Mutant } from './mutants.ts'

const mutant = (file: string, line: number, start: number): Mutant => ({
  file,
  line,
  start,
  end: start + 1,
  operator: 'boundary',
  text: '',
})
const all = [mutant('a', 1, 1), mutant('a', 1, 2), mutant('a', 2, 3), mutant('a', 2, 4), mutant('b', 1, 1), mutant('c', 9, 1)]

describe('spread', () => {
  it('returns every mutant once', () => expect(new Set(spread(all, 'seed'))).toEqual(new Set(all)))

  it.each(['one', 'two', 'three'])('takes one mutant of each file first, then one of each line (seed %s)', (seed) => {
    const chosen = spread(all, seed)
    expect(new Set(chosen.slice(0, 3).map(({ file }) => file))).toEqual(new Set(['a', 'b', 'c']))
    const ofA = chosen.filter(({ file }) => file === 'a')
    expect(new Set(ofA.slice(0, 2).map(({ line }) => line))).toEqual(new Set([1, 2]))
  })

  it('returns the same order for the same seed only', () => {
    const order = (seed: string) =>
      spread(all, seed)
        .map((each) => all.indexOf(each))
        .join('')
    expect(order('x')).toBe(order('x'))
    expect(new Set(['1', '2', '3', '4', '5', '6', '7', '8'].map(order)).size).toBeGreaterThan(1)
  })
})

describe('isIn', () => {
  it('puts each name into one part', () => {
    const parts = [1, 2, 3, 4]
    for (const name of ['a', 'b', 'c', 'd', 'e']) expect(parts.filter((part) => isIn(name, { part, of: 4 }))).toHaveLength(1)
  })
})
