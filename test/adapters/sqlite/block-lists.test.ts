/** The cache of lists in the SQLite index: as current as the table, in limited memory. */
import { describe, expect, it } from '@jest/globals'
import { type Block, BlockLists, blocksAmong } from '../../../lambdas/adapters/sqlite-index/lists/block-lists.ts'
import { toBits } from '../../../lambdas/adapters/sqlite-index/lists/document-sets.ts'
import { randomOf } from '../../contracts/generated-search.ts'

type TestBlock = Block<{ readonly bytes: number }>

const lists = (most: number): BlockLists<string, TestBlock> => new BlockLists(most, (entries) => entries?.bytes ?? 0)
const block = (first: number, last = first, n = 1): TestBlock => ({ first, last, n, entries: undefined })
const parts = (blocks: readonly TestBlock[] | undefined) => blocks?.map(({ first, last, n }) => [first, last, n])

describe('Lists of blocks', () => {
  it('include the writes since they were cached', () => {
    const known = lists(100_000)
    const list = known.add('a', [block(10, 19, 5), block(30, 39, 5)])
    known.put('a', block(20, 25, 2))
    known.put('a', block(10, 18, 4))
    known.put('a', block(50, 59, 9))
    known.drop('a', 30)
    known.drop('a', 31)
    known.put('b', block(1))
    expect(parts(known.get('a')?.blocks)).toEqual([
      [10, 18, 4],
      [20, 25, 2],
      [50, 59, 9],
    ])
    expect(list.n).toBe(15)
    expect(known.get('b')).toBeUndefined()
  })

  it('forget the decoded form of a block that is written again', () => {
    const known = lists(100_000)
    const list = known.add('a', [block(10)])
    known.keep('a', list, list.blocks[0]!, { bytes: 50 })
    const { bytes } = list
    known.put('a', block(10))
    expect([list.blocks[0]!.entries, list.bytes]).toEqual([undefined, bytes - 50])
  })

  it('forget the joined entries when a block is written or removed', () => {
    const known = lists(100_000)
    const list = known.add('a', [block(10), block(20)])
    const { bytes } = list
    for (const change of [() => known.put('a', block(20)), () => known.drop('a', 10)]) {
      known.keepJoined('a', list, { bytes: 500 })
      expect([list.joined, list.bytes]).toEqual([{ bytes: 500 }, list.blocks.length === 2 ? bytes + 500 : expect.anything()])
      change()
      expect(list.joined).toBeUndefined()
    }
    expect(list.bytes).toBeLessThan(bytes)
    known.keepJoined('a', list, { bytes: 60_000 })
    expect(list.joined).toBeUndefined()
  })

  it('stay within their memory limit and keep the recently used ones', () => {
    const most = 50_000
    const known = lists(most)
    const random = randomOf(7)
    const held = new Map<string, { readonly bytes: number }>()
    for (let round = 0; round < 3_000; round++) {
      const key = `${random.below(60)}`
      const list = known.get(key) ?? known.add(key, [block(1, 9), block(10, 19), block(20, 29)])
      held.set(key, list)
      for (const each of list.blocks) if (each.entries === undefined && random.below(2) === 0) known.keep(key, list, each, { bytes: 1_000 })
      if (random.below(9) === 0) known.put(key, block(10, 19))
      expect(known.get(key)).toBe(list)
      const sizes = [...held].map(([each, { bytes }]) => (known.has(each) ? bytes : 0))
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(most)
    }
  })

  it('cache nothing larger than half of the limit', () => {
    const known = lists(10_000)
    const list = known.add('a', [block(1), block(2)])
    known.keep('a', list, list.blocks[0]!, { bytes: 4_000 })
    known.keep('a', list, list.blocks[1]!, { bytes: 4_000 })
    expect(list.blocks.map(({ entries }) => entries?.bytes)).toEqual([4_000, undefined])
    known.add(
      'b',
      Array.from({ length: 100 }, (_, i) => block(i)),
    )
    expect(known.get('b')).toBeUndefined()
  })

  it('return the blocks that may contain documents', () => {
    const list = lists(100_000).add('a', [block(10, 19), block(30, 39), block(50, 59), block(70, 79)])
    const firsts = (docs: readonly number[]) => blocksAmong(list, Uint32Array.from(docs)).map(({ first }) => first)
    expect(firsts([1, 20, 45, 80])).toEqual([])
    expect(firsts([15, 16, 59])).toEqual([10, 50])
    expect(firsts([9, 30, 69, 70, 99])).toEqual([30, 70])
    expect(blocksAmong(list, undefined)).toHaveLength(4)
    expect(blocksAmong(list, toBits(Uint32Array.of(41, 42, 55))).map(({ first }) => first)).toContain(50)
  })
})
