/** Sets of documents, as lists and as bits: equal to sets of numbers, for every range and density. */
import { describe, expect, it } from '@jest/globals'
import {
  compact,
  type DocSet,
  difference,
  docListOf,
  hasDoc,
  intersection,
  listOf,
  toBits,
  union,
} from '../../../lambdas/adapters/sqlite-index/lists/document-sets.ts'
import { type Random, randomOf } from '../../contracts/generated-search.ts'
import { caseCountOf, firstSeed } from '../../fixtures/long-runs.ts'

const ROUNDS = caseCountOf(400, 4_000)

/** Few or many numbers of a range with a random start. */
function numbersOf(random: Random): readonly number[] {
  const from = 1 + random.below(3) * random.below(5_000)
  const range = 1 + random.below(2) * random.below(100) + random.below(2) * random.below(20_000)
  return Array.from({ length: random.below(1 + random.below(3) * random.below(2_000)) }, () => from + random.below(range))
}

const ascending = (numbers: Iterable<number>): readonly number[] => [...new Set(numbers)].sort((a, b) => a - b)

describe('sets of documents', () => {
  const seed = firstSeed()
  const random = randomOf(seed)

  /** In either form, or in the smaller one. */
  const setOf = (numbers: readonly number[]): DocSet => {
    const list = docListOf(Uint32Array.from(numbers))
    return list.length === 0 ? list : [list, toBits(list), compact(list)][random.below(3)]!
  }

  it('have the unions, intersections and differences of sets of numbers', () => {
    for (let round = 0; round < ROUNDS; round++) {
      const [a, b, c] = [numbersOf(random), numbersOf(random), numbersOf(random)]
      const [one, other] = [setOf(a), setOf(b)]
      const found = (set: DocSet) => ({ seed, round, length: set.length, docs: [...listOf(set)] })
      const wanted = (numbers: Iterable<number>) => ({ seed, round, length: ascending(numbers).length, docs: ascending(numbers) })
      expect(found(one)).toEqual(wanted(a))
      expect(found(union([one, other, setOf(c)]))).toEqual(wanted([...a, ...b, ...c]))
      expect(found(intersection(one, other))).toEqual(wanted(new Set(a).intersection(new Set(b))))
      expect(found(difference(one, other))).toEqual(wanted(new Set(a).difference(new Set(b))))
    }
  })

  it('contain exactly the numbers they were made of, as bits', () => {
    for (let round = 0; round < ROUNDS / 4; round++) {
      const numbers = [1 + random.below(500), ...numbersOf(random)]
      const bits = toBits(docListOf(Uint32Array.from(numbers)))
      const asked = Array.from({ length: 200 }, () => random.below(30_000))
      expect(asked.filter((doc) => hasDoc(bits, doc))).toEqual(asked.filter((doc) => numbers.includes(doc)))
    }
  })
})
