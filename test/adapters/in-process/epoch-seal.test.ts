/** A seal recognizes texts sealed before the store was restored, and opens any text unchanged. */
import { expect, it } from '@jest/globals'
import { sealOfEpoch } from '../../../lambdas/adapters/in-process/epoch-seal.ts'
import { LazySeal } from '../../../lambdas/adapters/in-process/lazy-seal.ts'
import { AesSeal } from '../../../lambdas/adapters/in-process/seal.ts'

const plain = new AesSeal(new Uint8Array(32))
const epochs = [0, 1, 2, 12].map((epoch) => sealOfEpoch(plain, epoch))

it.each(['', '[]', '12 x', '\n', '\n1\nx', '1\nx\ny', '\n0\n'])(
  'A seal opens %j unchanged, and marks it as former in every other epoch',
  (text) => {
    for (const [i, sealing] of epochs.entries())
      for (const [j, opening] of epochs.entries())
        expect(opening.open(sealing.seal(text, 7))).toEqual({ text, at: 7, ...(i === j ? {} : { isFormer: true }) })
  },
)

it('A seal of the first epoch seals like one without an epoch', () => {
  expect(plain.open(epochs[0]!.seal('["a"]', 7))).toEqual({ text: '["a"]', at: 7 })
  expect(epochs[0]!.open('garbage')).toBeUndefined()
})

it('Digests of queries are equal in all epochs of a key, and differ between keys', async () => {
  const key = new Uint8Array(32)
  const digests: string[] = []
  for (const epoch of [0, 3]) {
    const opened = new LazySeal(async () => key, epoch)
    expect(() => opened.digest('["code","1"]')).toThrow('not ready')
    await opened.ready()
    digests.push(opened.digest('["code","1"]'))
  }
  expect(digests).toEqual(Array(2).fill(new AesSeal(key).digest('["code","1"]')))
  expect(new AesSeal(key.fill(1)).digest('["code","1"]')).not.toBe(digests[0])
})
