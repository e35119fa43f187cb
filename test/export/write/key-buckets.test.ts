/** Keys that writers store in blobs, divided into buckets. Each collector reads its buckets. */
import { describe, expect, it } from '@jest/globals'
import { BUCKET_COUNT, type BucketRange, putKeys, readKeys } from '../../../lambdas/export/write/key-buckets.ts'
import { MemoryBlobs } from '../../fixtures/memory/blobs.ts'

const keys = (count: number): readonly string[] => Array.from({ length: count }, (_, i) => `Practitioner/${i}`)
const cut = (parts: number): readonly BucketRange[] =>
  Array.from({ length: parts }, (_, i): BucketRange => [(i * BUCKET_COUNT) / parts, ((i + 1) * BUCKET_COUNT) / parts])

describe('Keys of references', () => {
  it.each([
    [0, 1],
    [1, 64],
    [100, 4],
    [20_000, 1],
    [20_000, 64],
  ])('%i of them are read back, each once, in %i parts', async (count, parts) => {
    const blobs = new MemoryBlobs()
    await putKeys(blobs, 'b', new Set(keys(count)))
    const read = await Promise.all(cut(parts).map((buckets) => readKeys(blobs, 'b', buckets)))
    expect(read.flat().sort()).toEqual([...keys(count)].sort())
  })

  it('are in the same buckets in every blob, in about equal numbers', async () => {
    const blobs = new MemoryBlobs()
    await putKeys(blobs, 'one', keys(6_400))
    await putKeys(blobs, 'other', [...keys(6_400), ...keys(100).map((key) => `${key}x`)].reverse())
    for (const buckets of cut(64)) {
      const one = await readKeys(blobs, 'one', buckets)
      const other = new Set(await readKeys(blobs, 'other', buckets))
      expect(one.filter((key) => !other.has(key))).toEqual([])
      expect(one.length).toBeGreaterThan(50)
      expect(one.length).toBeLessThan(150)
    }
  })

  it('need one read of a small blob, two of a large one', async () => {
    const blobs = new MemoryBlobs()
    await putKeys(blobs, 'small', keys(1_000))
    await putKeys(blobs, 'large', keys(100_000))
    await readKeys(blobs, 'small', [8, 16])
    expect(blobs.gets).toBe(1)
    await readKeys(blobs, 'large', [8, 16])
    expect(blobs.gets).toBe(3)
  })

  it('are an error if their blob does not exist', async () => {
    await expect(readKeys(new MemoryBlobs(), 'b', [0, 64])).rejects.toThrow('are missing')
  })
})
