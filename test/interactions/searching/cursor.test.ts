/** Cursors of paging links, and queries kept for them, by themselves; that each page of each kind of search takes its own is in test/api/cursors. */
import { describe, expect, it } from '@jest/globals'
import { sealOfEpoch } from '../../../lambdas/adapters/in-process/epoch-seal.ts'
import { AesSeal } from '../../../lambdas/adapters/in-process/seal.ts'
import { openCursor, sealCursor } from '../../../lambdas/interactions/searching/cursor.ts'
import { readStoredQuery, storeQuery } from '../../../lambdas/interactions/searching/stored-query.ts'
import type { Blob, BlobStore } from '../../../lambdas/ports/blobs/blob-store.ts'

const DAY = 24 * 60 * 60 * 1000
const clockAt = (instant: number) => ({ now: () => instant, newId: () => 'id' })

const seal = new AesSeal(new Uint8Array(32))
const caller = { tenant: 'a', client: 'c' }
/** Another tenant, another client, and both names moved by a letter. */
const OTHERS = [
  { tenant: 'b', client: 'c' },
  { tenant: 'a', client: 'd' },
  { tenant: 'ac', client: '' },
]

describe('a cursor', () => {
  const cursor = sealCursor(seal, clockAt(DAY), ['a'], { caller, path: '/Patient', of: [] })

  it('is valid for a day, then it is 410', () => {
    expect(openCursor(seal, clockAt(2 * DAY), cursor, caller).position).toEqual(['a'])
    expect(() => openCursor(seal, clockAt(2 * DAY + 1), cursor, caller)).toThrow(expect.objectContaining({ status: 410 }))
  })

  it('is 410 to its caller after a point-in-time restore, and invalid to others', () => {
    const later = sealOfEpoch(seal, 1)
    expect(() => openCursor(later, clockAt(DAY), cursor, caller)).toThrow(expect.objectContaining({ status: 410 }))
    for (const other of OTHERS)
      expect(() => openCursor(later, clockAt(DAY), cursor, other)).toThrow(expect.objectContaining({ status: 400 }))
    const again = sealCursor(later, clockAt(DAY), ['b'], { caller, path: '/Patient', of: [] })
    expect(openCursor(later, clockAt(DAY), again, caller).position).toEqual(['b'])
  })

  it('is like garbage to another tenant or client, expired or not', () => {
    const refused = (text: string, at: number, by: typeof caller): unknown => {
      try {
        return openCursor(seal, clockAt(at), text, by)
      } catch (error) {
        return { ...(error as object), message: (error as Error).message }
      }
    }
    const garbage = refused('garbage', 2 * DAY, caller)
    expect(garbage).toMatchObject({ status: 400 })
    for (const other of OTHERS) for (const at of [2 * DAY, 3 * DAY]) expect(refused(cursor, at, other)).toEqual(garbage)
  })
})

it('a stored query is found by its caller, and unknown to other tenants and clients', async () => {
  const kept = new Map<string, Blob>()
  const blobs = { get: async (key: string) => kept.get(key), put: async (key: string, blob: Blob) => void kept.set(key, blob) }
  const store = blobs as unknown as BlobStore
  const ports = { blobs: store, clock: clockAt(DAY), seal }
  const key = await storeQuery(ports, caller, [['name', 'x']])
  expect(await readStoredQuery(store, caller, key)).toEqual([['name', 'x']])
  for (const other of OTHERS) {
    expect(await readStoredQuery(store, other, key)).toBeUndefined()
    expect(await storeQuery(ports, other, [['name', 'x']])).not.toBe(key)
  }
  // Logs of S3 show the key. Without the secret of the server it does not reveal which of the likely queries was stored.
  expect(await storeQuery(ports, caller, [['name', 'x']])).toBe(key)
  expect(await storeQuery({ ...ports, seal: new AesSeal(new Uint8Array(32).fill(1)) }, caller, [['name', 'x']])).not.toBe(key)
  expect(await readStoredQuery(store, caller, `${key}x`)).toBeUndefined()
})
