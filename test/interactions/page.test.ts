/** How much a page holds. */
import { expect, it } from '@jest/globals'
import { HEAVIEST_PAGE, lightCount } from '../../lambdas/interactions/page.ts'

it.each([
  ['nothing', [], 0],
  ['what fits', [1, HEAVIEST_PAGE - 1], 2],
  ['what fits, and not what comes after it', [1, HEAVIEST_PAGE, 1], 1],
  ['one that is too heavy alone', [HEAVIEST_PAGE + 1, 1], 1],
])('A page holds %s', (_, weights, count) => expect(lightCount(weights)).toBe(count))
