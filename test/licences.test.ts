/** The licence expressions that .ci/licences.ts allows. */
import { expect, it } from '@jest/globals'
import { isAllowed } from '../.ci/spdx.ts'

it.each([
  ['MIT', true],
  ['GPL-3.0-only', false],
  ['MIT OR GPL-3.0-only', true],
  ['GPL-3.0-only OR MIT', true],
  ['MIT AND GPL-3.0-only', false],
  ['GPL-3.0-only AND MIT', false],
  ['MIT AND ISC', true],
  ['GPL-3.0-only AND MIT OR ISC', true],
  ['ISC OR MIT AND GPL-3.0-only', true],
  ['(ISC OR MIT) AND GPL-3.0-only', false],
  ['GPL-3.0-only AND (ISC OR MIT)', false],
  ['MIT AND (ISC OR GPL-3.0-only)', true],
  ['((MIT))', true],
  ['MIT+', true],
  ['MIT WITH LLVM-exception', true],
  ['GPL-2.0-only WITH Classpath-exception-2.0', false],
  ['GPL-2.0-only WITH MIT', false],
  ['MIT License', false],
  ['see MIT', false],
  ['(MIT', false],
  ['MIT)', false],
  ['MIT AND', false],
  ['OR MIT', false],
  ['()', false],
  ['none named', false],
  ['', false],
])('%s is allowed: %s', (expression, expected) => expect(isAllowed(expression, new Set(['MIT', 'ISC']))).toBe(expected))
