/** How much a page holds. */
import { expect, it } from '@jest/globals'
import { countFittingPage, MAX_PAGE_BYTES } from '../../../lambdas/interactions/searching/page-limits.ts'

it.each([
  ['nothing', [], 0],
  ['all within the limit', [1, MAX_PAGE_BYTES - 1], 2],
  ['the entries before the limit', [1, MAX_PAGE_BYTES, 1], 1],
  ['one entry that is too large alone', [MAX_PAGE_BYTES + 1, 1], 1],
])('a page holds %s', (_, weights, count) => expect(countFittingPage(weights)).toBe(count))
