/** Values that profiles give, said again. */
import { isDecimal, writeJson } from '../../json.ts'
import { clipped } from '../clipped-text.ts'
import { sizeOf } from './fixed-and-pattern.ts'

/** What the profile says, never a value of the resource. */
export function shown(expected: unknown): string {
  if (typeof expected === 'string' && !isDecimal(expected)) return clipped(expected)
  return sizeOf(expected) > LARGEST ? 'what the profile says' : clipped(writeJson(expected))
}

/** Parts of a value that is written out. */
const LARGEST = 100
