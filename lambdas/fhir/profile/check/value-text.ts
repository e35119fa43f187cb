/** Values that profiles give, said again. */
import { isDecimal, writeJson } from '../../json.ts'
import { clipText } from '../clipped-text.ts'
import { valueSizeOf } from './fixed-and-pattern.ts'

/** What the profile says, never a value of the resource. */
export function describeExpected(expected: unknown): string {
  if (typeof expected === 'string' && !isDecimal(expected)) return clipText(expected)
  return valueSizeOf(expected) > LARGEST ? 'what the profile says' : clipText(writeJson(expected))
}

/** Parts of a value that is written out. */
const LARGEST = 100
