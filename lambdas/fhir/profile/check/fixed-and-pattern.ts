/** Fixed values and patterns. https://hl7.org/fhir/R4/elementdefinition-definitions.html#ElementDefinition.pattern_x_ */
import { isEqual } from '../../path/compare.ts'
import { spendWork, type WorkBudget } from '../../path/work-budget.ts'
import { isElement } from '../../resource.ts'

export function equalsFixed(value: unknown, fixed: unknown, work: WorkBudget): boolean {
  spendWork(work, PART * valueSizeOf(fixed))
  return isEqual(value, fixed)
}

/** Work units for comparing one part of a value. Visiting an element costs 1. */
const PART = 1 / 16

const SIZES = new WeakMap<object, number>()

/** Returns the number of objects, lists and primitives in a value from a profile, as a measure of work. Cached. */
export function valueSizeOf(fixed: unknown): number {
  if (typeof fixed !== 'object' || fixed === null) return 1
  const size = SIZES.get(fixed) ?? Object.values(fixed).reduce<number>((sum, part) => sum + valueSizeOf(part), 1)
  SIZES.set(fixed, size)
  return size
}

/** Whether a value contains everything in the pattern. Each list item of the pattern must match some list item of the value. */
export function matchesPattern(value: unknown, pattern: unknown, work: WorkBudget): boolean {
  spendWork(work, PART)
  if (Array.isArray(pattern)) return Array.isArray(value) && pattern.every((part) => value.some((item) => matchesPattern(item, part, work)))
  if (!isElement(pattern)) return isEqual(value, pattern)
  return (
    isElement(value) && Object.entries(pattern).every(([key, part]) => Object.hasOwn(value, key) && matchesPattern(value[key], part, work))
  )
}
