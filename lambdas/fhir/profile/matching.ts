/** Fixed values and patterns. https://hl7.org/fhir/R4/elementdefinition-definitions.html#ElementDefinition.pattern_x_ */
import { same } from '../path/compare.ts'
import { isElement } from '../resource.ts'

export const isFixed = (value: unknown, fixed: unknown): boolean => same(value, fixed)

/** Whether a value has at least what the pattern has. */
export function fits(value: unknown, pattern: unknown): boolean {
  if (Array.isArray(pattern)) return Array.isArray(value) && pattern.every((part) => value.some((item) => fits(item, part)))
  if (!isElement(pattern)) return same(value, pattern)
  return isElement(value) && Object.entries(pattern).every(([key, part]) => fits(value[key], part))
}
