/** Cursors of paging links, by themselves; that each page of each kind of search takes its own is in test/api/cursors. */
import { expect, it } from '@jest/globals'
import { AesSeal } from '../../lambdas/adapters/in-process/seal.ts'
import { openCursor, sealCursor } from '../../lambdas/interactions/cursor.ts'

const DAY = 24 * 60 * 60 * 1000
const clockAt = (instant: number) => ({ now: () => instant, newId: () => 'id' })

it('a cursor is good for a day, then it is 410', () => {
  const seal = new AesSeal(new Uint8Array(32))
  const cursor = sealCursor(seal, clockAt(DAY), ['a'], { tenant: 'a', path: '/Patient', of: [] })
  expect(openCursor(seal, clockAt(2 * DAY), cursor).position).toEqual(['a'])
  expect(() => openCursor(seal, clockAt(2 * DAY + 1), cursor)).toThrow(expect.objectContaining({ status: 410 }))
})
