/** Stored keys of a document in the SQLite index: reading a part gives the same as reading the whole. */
import { describe, expect, it } from '@jest/globals'
import type { ForwardEntry } from '../../../lambdas/adapters/sqlite-index/forward-entry.ts'
import { explicitGroupKeys, keysIn } from '../../../lambdas/adapters/sqlite-index/forward-keys.ts'
import { randomOf } from '../../contracts/generated-search.ts'
import { caseCountOf, firstSeed } from '../../fixtures/long-runs.ts'

const PIECES = ['a', '"', '\\', ',', '[', ']', '12,"', '[7,["x"]]', '\u0001', 'é', '\u{1f600}', '\n', '']
const ROUNDS = caseCountOf(2_000, 50_000)

describe('The keys of a document', () => {
  const seed = firstSeed()
  const random = randomOf(seed)
  const textOf = (): string => Array.from({ length: random.below(5) }, () => random.pick(PIECES)).join('')

  it('are found for any characters in them', () => {
    for (let round = 0; round < ROUNDS; round++) {
      const pairs = Array.from({ length: random.below(6) }, () => [random.below(20), textOf()] as const)
      const own = random.below(2) === 0 ? [] : [[7 + random.below(3), [textOf()]] as const]
      const entry: ForwardEntry = [pairs.flat(), [7, 8], [], own]
      const text = JSON.stringify(entry)
      const wanted = pairs.filter(([combination]) => combination === 3 || combination === 12).map(([, value]) => value)
      expect({ seed, text, keys: keysIn(text, [3, 12]) }).toEqual({ seed, text, keys: wanted })
      expect({ seed, text, own: explicitGroupKeys(text, 7) }).toEqual({ seed, text, own: own.find(([field]) => field === 7)?.[1] })
    }
  })
})
