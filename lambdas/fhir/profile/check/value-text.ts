/** Values of profiles, written out for messages. */
import { isDecimal, writeJson } from '../../json.ts'
import { clipText } from '../clipped-text.ts'
import { valueSizeOf } from './fixed-and-pattern.ts'

/** Describes a value of the profile for a message. Never pass a value of the resource: messages must have no clinical content. */
export function describeExpected(expected: unknown): string {
  if (typeof expected === 'string' && !isDecimal(expected)) return clipText(expected)
  return valueSizeOf(expected) > LARGEST ? 'what the profile says' : clipText(writeJson(expected))
}

/** Maximum parts of a value that a message quotes. Larger values are not quoted. */
const LARGEST = 100
