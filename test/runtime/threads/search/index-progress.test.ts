/** The estimate of the seconds until the index has caught up, over all its lines. */
import { expect, it } from '@jest/globals'
import { IndexProgress } from '../../../../lambdas/runtime/threads/search/index-progress.ts'

const SECOND = 1_000
/** Acknowledged positions of the tenant `apart`, and of all. */
const LAST = { apart: 5_000, all: 1_000_000 }
const openProgress = () => new IndexProgress((tenant) => (tenant === undefined ? LAST.all : LAST.apart))

it('is 0 once every line has caught up', () => {
  const progress = openProgress()
  progress.cameTo({ all: LAST.all, apart: new Map([['apart', LAST.apart]]) }, 0)
  expect(progress.secondsBehind(0)).toBe(0)
})

it('is at least a second before the rate is known', () => {
  expect(openProgress().secondsBehind(0)).toBe(1)
})

it('follows the rate of the index, also beyond the longest Retry-After', () => {
  const progress = openProgress()
  progress.cameTo({ all: 0, apart: new Map() }, 0)
  progress.cameTo({ all: 1_000, apart: new Map() }, SECOND)
  expect(progress.secondsBehind(SECOND)).toBe(999)
})

it('is the longest estimate for a client while the index stands still', () => {
  const progress = openProgress()
  progress.cameTo({ all: 0, apart: new Map() }, 0)
  progress.cameTo({ all: 1_000, apart: new Map() }, SECOND)
  expect(progress.secondsBehind(4 * SECOND)).toBe(120)
})

it('includes a tenant that the index follows separately', () => {
  const progress = openProgress()
  progress.cameTo({ all: LAST.all, apart: new Map([['apart', 0]]) }, 0)
  progress.cameTo({ all: LAST.all, apart: new Map([['apart', 100]]) }, SECOND)
  expect(progress.secondsBehind(SECOND)).toBe(49)
})
