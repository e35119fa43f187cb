/** Kept queries take no more room than they may: the oldest go, and nobody's push out those of others. */
import { describe, expect, it } from '@jest/globals'
import { FilesystemBlobStore } from '../../../lambdas/adapters/filesystem/blob-store.ts'
import { AesSeal } from '../../../lambdas/adapters/in-process/seal.ts'
import { readStoredQuery, storeQuery, sweepStoredQueries } from '../../../lambdas/interactions/searching/stored-query.ts'
import { QuotaBlobStore } from '../../../lambdas/interactions/searching/stored-query-quota.ts'
import { newFolder } from '../../fixtures/at-end.ts'

const BOUNDS = { ofTenant: 50_000, inAll: 120_000 }
const DAY = 24 * 60 * 60 * 1000
const clock = { now: () => 10 * DAY, newId: () => 'id' }
const seal = new AesSeal(new Uint8Array(32))
const LONG = 'x'.repeat(9_900)

describe('stored queries', () => {
  const world = () => {
    const folder = newFolder()
    const open = () => new QuotaBlobStore(new FilesystemBlobStore(folder), BOUNDS)
    const keep = (blobs: QuotaBlobStore, tenant: string, name: string, text = LONG) =>
      storeQuery({ blobs, clock, seal }, { tenant, client: 'c' }, [[name, text]])
    const left = async (blobs: QuotaBlobStore, tenant: string, keys: readonly string[]) => {
      const found: number[] = []
      for (const [i, key] of keys.entries()) if ((await readStoredQuery(blobs, { tenant, client: 'c' }, key)) !== undefined) found.push(i)
      return found
    }
    const many = async (blobs: QuotaBlobStore, tenant: string, count: number, text?: string) => {
      const keys: string[] = []
      for (let i = 0; i < count; i++) keys.push(await keep(blobs, tenant, `n${i}`, text))
      return keys
    }
    return { open, many, left }
  }

  it('keep the newest within the limit of a tenant', async () => {
    const { open, many, left } = world()
    const blobs = open()
    expect(await left(blobs, 'a', await many(blobs, 'a', 9))).toEqual([4, 5, 6, 7, 8])
  })

  it('remove the oldest of the largest tenant beyond the total limit', async () => {
    const { open, many, left } = world()
    const blobs = open()
    const few = await many(blobs, 'few', 1)
    const others: [string, readonly string[]][] = []
    for (const tenant of ['a', 'b', 'c']) others.push([tenant, await many(blobs, tenant, 5)])
    expect(await left(blobs, 'few', few)).toEqual([0])
    const counts = await Promise.all(others.map(async ([tenant, keys]) => (await left(blobs, tenant, keys)).length))
    expect(counts.reduce((sum, count) => sum + count, 1)).toBe(12)
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(2)
  })

  it('count as files if short, and also after a restart', async () => {
    const { open, many, left } = world()
    const keys = await many(open(), 'a', 8, 'short')
    const blobs = open()
    const more = await many(blobs, 'a', 12, 'other')
    expect((await left(blobs, 'a', keys)).length + (await left(blobs, 'a', more)).length).toBe(12)
    expect(await left(blobs, 'a', more)).toEqual([...more.keys()])
  })

  it('free their space when they expire', async () => {
    const { open, many, left } = world()
    const blobs = open()
    await many(blobs, 'a', 5)
    await sweepStoredQueries(blobs, 20 * DAY)
    expect(await left(blobs, 'a', await many(blobs, 'a', 5, `${LONG}y`))).toEqual([0, 1, 2, 3, 4])
  })

  it('are limited, unlike other blobs', async () => {
    const blobs = world().open()
    for (let i = 0; i < 20; i++) await blobs.put(`other/${i}`, { bytes: new Uint8Array(10_000), contentType: 'x' })
    expect((await Promise.all(Array.from({ length: 20 }, (_, i) => blobs.get(`other/${i}`)))).every((blob) => blob !== undefined)).toBe(
      true,
    )
  })
})
