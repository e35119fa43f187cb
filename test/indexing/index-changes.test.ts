/** How many documents are in memory while an index follows a store. */
import { expect, it } from '@jest/globals'
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
