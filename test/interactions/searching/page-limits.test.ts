/** How much a page holds. */
import { expect, it } from '@jest/globals'
import { HEAVIEST_PAGE, lightCount } from '../../../lambdas/interactions/searching/page-limits.ts'

it.each([
  ['nothing', [], 0],
  ['all within the limit', [1, HEAVIEST_PAGE - 1], 2],
  ['the entries before the limit', [1, HEAVIEST_PAGE, 1], 1],
  ['one entry that is too large alone', [HEAVIEST_PAGE + 1, 1], 1],
])('a page holds %s', (_, weights, count) => expect(lightCount(weights)).toBe(count))
