/** How many documents are in memory while an index follows a store. */
import { expect, it } from '@jest/globals'
import { SqliteSearchIndex } from '../../lambdas/adapters/sqlite-index/search-index.ts'
import { Follower } from '../../lambdas/indexing/follower.ts'
import { indexChanges } from '../../lambdas/indexing/index-changes.ts'
import { patientOf, versionOf, writeOf } from '../fixtures/versions.ts'

/** Documents the index gets at once. */
function appliedOf(texts: readonly string[]): readonly number[] {
  const applied: number[] = []
  const changes = texts.map((text, i) => ({
    position: i + 1,
    version: versionOf(writeOf(patientOf(`${i}`), { body: { resourceType: 'Patient', text } })),
  }))
  const index = {
    applyNow: ({ length }: { readonly length: number }) => void applied.push(length),
    isFull: false,
    prepareCommit: () => true,
    commit: () => undefined,
    note: () => 0,
    setNote: () => undefined,
  }
  const following = { limit: texts.length, reading: () => ({}), onPoison: () => undefined }
  expect(indexChanges({ changes: () => changes }, index, 0, following)).toBe(texts.length)
  return applied.filter((length) => length > 0)
}

it('sixteen documents go to the index at once, fewer where they are heavy', () => {
  const heavy = 'x'.repeat(1_000_000)
  expect(appliedOf(Array(40).fill('x'))).toEqual([16, 16, 8])
  expect(appliedOf(['x', heavy, heavy, 'x', 'x'])).toEqual([2, 1, 2])
})

it('what is found of a document that fills the memory of the index is found at once; it is written in steps before others follow', async () => {
  const identifier = Array.from({ length: 2_500 }, (_, i) => ({ system: 'urn:s', value: `${i}` }))
  const changes = [...Array(15).keys(), 'large', ...Array(20).keys()].map((name, i) => {
    const body = { resourceType: 'Patient', id: `${i}`, ...(name === 'large' ? { identifier } : {}) }
    return { position: i + 1, version: versionOf(writeOf(patientOf(`${i}`), { body })) }
  })
  const index = new SqliteSearchIndex(':memory:', { pending: 2_000 })
  const feed = { changes: (after: number, limit: number) => changes.slice(after, after + limit), version: () => undefined }
  const more = { reading: {}, expressions: { evaluate: async () => [] }, onPoison: () => undefined, onChange: () => undefined }
  const follower = new Follower({ feed, index, commitEvery: 10_000, ...more })
  const positions: number[] = []
  while (follower.follow(128)) positions.push(follower.position)
  expect(positions.slice(0, 3)).toEqual([16, 16, 16])
  expect(positions.at(-1)).toBe(36)
  expect(positions.filter((position) => position > 16)).toHaveLength(1)
  index.close()
})
