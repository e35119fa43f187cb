/** What a profile says of one value: https://hl7.org/fhir/R4/elementdefinition-definitions.html#ElementDefinition.fixed_x_ and after. */
import { decimalText, isDecimal, writeJson } from '../json.ts'
import { compare } from '../path/compare.ts'
import { isElement } from '../resource.ts'
import { type Check, nameOf, report } from './checking.ts'
import { postpone } from './constraint.ts'
import type { Sourced } from './definition.ts'
import type { Item } from './items.ts'
import { UCUM } from './known-codes.ts'
import { fits, isFixed, sizeOf } from './matching.ts'
import type { Node } from './node.ts'
import { clipped } from './shown.ts'

export function checkValue(node: Node, { value }: Item, type: string, check: Check): void {
  const { fixed, pattern, maxLength, regex, minValue, maxValue, types } = node
  const fault = (rule: string, text: string): void => report(check, RULES.get(rule) ?? 'value', rule, `${nameOf(node)} ${text}`)
  if (fixed !== undefined && !isFixed(value, fixed[0], check.work)) fault('fixed', `must be ${shown(fixed[0])}`)
  if (pattern !== undefined && !fits(value, pattern[0], check.work)) fault('pattern', `must have ${shown(pattern[0])}`)
  // A primitive that has only extensions.
  if (value === undefined) return
  if (maxLength !== undefined && lengthOf(value) > maxLength) fault('maxLength', `may have ${maxLength} characters`)
  if (minValue !== undefined && (orderOf(value, minValue, check) ?? 0) < 0) fault('minValue', `must be at least ${shown(minValue)}`)
  if (maxValue !== undefined && (orderOf(value, maxValue, check) ?? 0) > 0) fault('maxValue', `must be at most ${shown(maxValue)}`)
  if (isMoment(value) && (isElement(minValue) || isElement(maxValue))) notAged(node, check)
  if (types !== undefined && !isOfTypes(node, value, type))
    fault('type', `must be of the type ${types.map(({ code }) => code).join(' or ')}`)
  if (regex !== undefined) checkRegex(regex, node, value, check)
}

const isMoment = (value: unknown): boolean => typeof value === 'string' && !isDecimal(value)

/** What is found does not change with time. https://hl7.org/fhir/R4/elementdefinition-definitions.html#ElementDefinition.minValue_x_ */
const notAged = (node: Node, check: Check): void =>
  report(check, 'not-supported', 'age', `How far ${nameOf(node)} is from now is not checked`, 'information')

const RULES: ReadonlyMap<string, 'too-long' | 'structure'> = new Map([
  ['maxLength', 'too-long'],
  ['type', 'structure'],
])

/** What the profile says, never a value of the resource. */
function shown(expected: unknown): string {
  if (typeof expected === 'string' && !isDecimal(expected)) return clipped(expected)
  return sizeOf(expected) > LARGEST ? 'what the profile says' : clipped(writeJson(expected))
}

/** Parts of a value that is written out. */
const LARGEST = 100

/** In characters, not in halves of them. */
const lengthOf = (value: unknown): number => (typeof value === 'string' && !isDecimal(value) ? [...value].length : 0)

function isOfTypes({ types = [], isChoice }: Node, value: unknown, type: string): boolean {
  if (isElement(value) && typeof value.resourceType === 'string')
    return types.some(({ code }) => code === 'Resource' || code === 'DomainResource' || code === value.resourceType)
  return !isChoice || types.some(({ code }) => code === type)
}

/** Quantities by what they are in base units: 100 mg are less than 10 g. undefined: the two cannot be ordered. */
function orderOf(value: unknown, limit: unknown, { library }: Check): number | undefined {
  const order = compare(value, limit)
  if (order !== undefined || !isElement(value) || !isElement(limit)) return order
  const [a, b] = [value, limit].map(({ system, code, value: number }) =>
    system === UCUM && typeof code === 'string' && isNumber(number) ? library.inBaseUnits?.(code, Number(decimalText(number))) : undefined,
  )
  return a === undefined || b === undefined || a.unit !== b.unit ? undefined : a.value - b.value
}

const isNumber = (value: unknown): value is number | string => typeof value === 'number' || isDecimal(value)

/** The whole value has to match. A pattern may come from anybody, and explode: it is tried elsewhere. */
function checkRegex({ said: regex, isBuiltIn }: Sourced<string>, node: Node, value: unknown, check: Check): void {
  if (typeof value === 'object') return
  const text = isDecimal(value) ? decimalText(value) : String(value)
  const human = `${nameOf(node)} must match ${shown(regex)}`
  const whole = `^(?:${regex})$`
  if (!isBuiltIn)
    postpone({ key: 'regex', severity: 'error', human, expression: `$this.matches(${literal(whole)})` }, text, 'string', check)
  else if (!new RegExp(whole, 'u').test(text)) report(check, 'value', 'regex', human)
}

/** http://hl7.org/fhirpath/N1/#string */
const literal = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`
