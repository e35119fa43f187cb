/** Fixed values and patterns. https://hl7.org/fhir/R4/elementdefinition-definitions.html#ElementDefinition.pattern_x_ */
import { same } from '../../path/compare.ts'
import { spend, type Work } from '../../path/work-budget.ts'
import { isElement } from '../../resource.ts'

export function isFixed(value: unknown, fixed: unknown, work: Work): boolean {
  spend(work, PART * sizeOf(fixed))
  return same(value, fixed)
}

/** What a part of a value takes, against looking at an element. */
const PART = 1 / 16

const SIZES = new WeakMap<object, number>()

/** Parts of a value that a profile gives. */
export function sizeOf(fixed: unknown): number {
  if (typeof fixed !== 'object' || fixed === null) return 1
  const size = SIZES.get(fixed) ?? Object.values(fixed).reduce<number>((sum, part) => sum + sizeOf(part), 1)
  SIZES.set(fixed, size)
  return size
}

/** Whether a value has at least what the pattern has. Each item of a pattern's list is looked for among all of the value's. */
export function fits(value: unknown, pattern: unknown, work: Work): boolean {
  spend(work, PART)
  if (Array.isArray(pattern)) return Array.isArray(value) && pattern.every((part) => value.some((item) => fits(item, part, work)))
  if (!isElement(pattern)) return same(value, pattern)
  return isElement(value) && Object.entries(pattern).every(([key, part]) => Object.hasOwn(value, key) && fits(value[key], part, work))
}
