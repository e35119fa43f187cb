/** Fixed values and patterns. https://hl7.org/fhir/R4/elementdefinition-definitions.html#ElementDefinition.pattern_x_ */
import { isEqual } from '../../path/compare.ts'
import { spendWork, type WorkBudget } from '../../path/work-budget.ts'
import { isElement } from '../../resource.ts'

export function equalsFixed(value: unknown, fixed: unknown, work: WorkBudget): boolean {
  spendWork(work, PART * valueSizeOf(fixed))
  return isEqual(value, fixed)
}

/** What a part of a value takes, against looking at an element. */
const PART = 1 / 16

const SIZES = new WeakMap<object, number>()

/** Parts of a value that a profile gives. */
export function valueSizeOf(fixed: unknown): number {
  if (typeof fixed !== 'object' || fixed === null) return 1
  const size = SIZES.get(fixed) ?? Object.values(fixed).reduce<number>((sum, part) => sum + valueSizeOf(part), 1)
  SIZES.set(fixed, size)
  return size
}

/** Whether a value has at least what the pattern has. Each item of a pattern's list is looked for among all of the value's. */
export function matchesPattern(value: unknown, pattern: unknown, work: WorkBudget): boolean {
  spendWork(work, PART)
  if (Array.isArray(pattern)) return Array.isArray(value) && pattern.every((part) => value.some((item) => matchesPattern(item, part, work)))
  if (!isElement(pattern)) return isEqual(value, pattern)
  return (
    isElement(value) && Object.entries(pattern).every(([key, part]) => Object.hasOwn(value, key) && matchesPattern(value[key], part, work))
  )
}
