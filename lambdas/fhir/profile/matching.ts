/** Fixed values and patterns. https://hl7.org/fhir/R4/elementdefinition-definitions.html#ElementDefinition.pattern_x_ */
import { same } from '../path/compare.ts'
import { spend, type Work } from '../path/work.ts'
import { isElement } from '../resource.ts'

export const isFixed = (value: unknown, fixed: unknown): boolean => same(value, fixed)

/** Whether a value has at least what the pattern has. Each item of a pattern's list is looked for among all of the value's. */
export function fits(value: unknown, pattern: unknown, work: Work): boolean {
  spend(work, 1)
  if (Array.isArray(pattern)) return Array.isArray(value) && pattern.every((part) => value.some((item) => fits(item, part, work)))
  if (!isElement(pattern)) return same(value, pattern)
  return isElement(value) && Object.entries(pattern).every(([key, part]) => Object.hasOwn(value, key) && fits(value[key], part, work))
}
