/**
 * Rules for a single value: fixed value, pattern, length, minimum, maximum, type and regex.
 * https://hl7.org/fhir/R4/elementdefinition-definitions.html#ElementDefinition.fixed_x_
 */
import { decimalTextOf, isDecimal } from '../../json.ts'
import { isElement } from '../../resource.ts'
import { type CheckContext, nameOf, report } from '../check-context.ts'
import type { ProfileStatement } from '../definition.ts'
import type { Item } from '../items.ts'
import type { ProfileNode } from '../profile-tree.ts'
import { deferRule } from './constraint.ts'
import { equalsFixed, matchesPattern } from './fixed-and-pattern.ts'
import { checkLimit } from './value-limits.ts'
import { describeExpected } from './value-text.ts'

export function checkValue(node: ProfileNode, { value }: Item, type: string, check: CheckContext): void {
  const { fixed, pattern, maxLength, regex, minValue, maxValue, types } = node
  const fault = (rule: string, text: string): void => report(check, RULES.get(rule) ?? 'value', rule, `${nameOf(node)} ${text}`)
  if (fixed !== undefined && !equalsFixed(value, fixed[0], check.work)) fault('fixed', `must be ${describeExpected(fixed[0])}`)
  if (pattern !== undefined && !matchesPattern(value, pattern[0], check.work)) fault('pattern', `must have ${describeExpected(pattern[0])}`)
  // Skip the other rules for a primitive that has only extensions.
  if (value === undefined) return
  if (maxLength !== undefined && lengthOf(value) > maxLength) fault('maxLength', `may have ${maxLength} characters`)
  if (minValue !== undefined) checkLimit({ rule: 'minValue', limit: minValue, isLeast: true }, value, node, check)
  if (maxValue !== undefined) checkLimit({ rule: 'maxValue', limit: maxValue, isLeast: false }, value, node, check)
  if (types !== undefined && !hasType(node, value, type)) fault('type', `must be of the type ${types.map(({ code }) => code).join(' or ')}`)
  if (regex !== undefined) checkRegex(regex, node, value, check)
}

const RULES: ReadonlyMap<string, 'too-long' | 'structure'> = new Map([
  ['maxLength', 'too-long'],
  ['type', 'structure'],
])

/** Returns the length of a text in Unicode characters, not in UTF-16 code units. Returns 0 for other values. */
const lengthOf = (value: unknown): number => (typeof value === 'string' && !isDecimal(value) ? [...value].length : 0)

function hasType({ types = [], isChoice }: ProfileNode, value: unknown, type: string): boolean {
  if (isElement(value) && typeof value.resourceType === 'string')
    return types.some(({ code }) => code === 'Resource' || code === 'DomainResource' || code === value.resourceType)
  return !isChoice || types.some(({ code }) => code === type)
}

/**
 * Requires that the regex matches the whole value. A regex of a profile that is not built in may take exponential time, so it is deferred.
 */
function checkRegex({ rule: regex, isBuiltIn }: ProfileStatement<string>, node: ProfileNode, value: unknown, check: CheckContext): void {
  if (typeof value === 'object') return
  const text = isDecimal(value) ? decimalTextOf(value) : String(value)
  const human = `${nameOf(node)} must match ${describeExpected(regex)}`
  const whole = `^(?:${regex})$`
  if (!isBuiltIn)
    deferRule({ key: 'regex', severity: 'error', human, expression: `$this.matches(${literal(whole)})` }, text, 'string', check)
  else if (!new RegExp(whole, 'u').test(text)) report(check, 'value', 'regex', human)
}

/** Returns a FHIRPath string literal. http://hl7.org/fhirpath/N1/#string */
const literal = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`
