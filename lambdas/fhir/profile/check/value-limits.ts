/** Minimum and maximum values. https://hl7.org/fhir/R4/elementdefinition-definitions.html#ElementDefinition.minValue_x_ */
import { parseDateRange } from '../../date-range.ts'
import { decimalTextOf, isDecimal } from '../../json.ts'
import { compareOperands } from '../../path/compare.ts'
import { type Element, isElement } from '../../resource.ts'
import { type CheckContext, nameOf, report } from '../check-context.ts'
import type { ProfileNode } from '../profile-tree.ts'
import { UCUM } from '../rule-based-systems.ts'
import { describeExpected } from './value-text.ts'

type Limit = { readonly rule: 'minValue' | 'maxValue'; readonly limit: unknown; readonly isLeast: boolean }

export function checkLimit(bound: Limit, value: unknown, node: ProfileNode, check: CheckContext): void {
  const { rule, limit, isLeast } = bound
  if (isElement(limit) && isMoment(value)) return checkFromNow({ ...bound, limit }, value, node, check)
  const order = orderOf(value, limit, check) ?? 0
  if (isLeast ? order < 0 : order > 0)
    report(check, 'value', rule, `${nameOf(node)} must be at ${isLeast ? 'least' : 'most'} ${describeExpected(limit)}`)
}

/**
 * Compares two values. UCUM quantities are compared in base units: 100 mg is less than 10 g. Returns undefined if the values have no order.
 */
function orderOf(value: unknown, limit: unknown, { library }: CheckContext): number | undefined {
  const order = compareOperands(value, limit)
  if (order !== undefined || !isElement(value) || !isElement(limit)) return order
  const [a, b] = [value, limit].map((quantity) => {
    const number = numberOf(quantity)
    return quantity.system === UCUM && typeof quantity.code === 'string' && number !== undefined
      ? library.inBaseUnits?.(quantity.code, number)
      : undefined
  })
  return a === undefined || b === undefined || a.unit !== b.unit ? undefined : a.value - b.value
}

function numberOf({ value }: Element): number | undefined {
  if (typeof value === 'number') return value
  return isDecimal(value) ? Number(decimalTextOf(value)) : undefined
}

const isMoment = (value: unknown): value is string => typeof value === 'string' && !isDecimal(value)

/** Checks a date against a duration: with minValue it must be at most this long ago, with maxValue at most this far ahead. */
function checkFromNow(
  { rule, limit, isLeast }: Limit & { readonly limit: Element },
  text: string,
  node: ProfileNode,
  check: CheckContext,
): void {
  const number = numberOf(limit)
  const distance = number === undefined ? undefined : isLeast ? -number : number
  const moment = distance === undefined ? undefined : fromNow(distance, limit, check)
  if (distance === undefined || moment === undefined)
    return report(
      check,
      'not-supported',
      'age',
      `How far ${nameOf(node)} is from now is not known: ${describeExpected(limit)} is no duration`,
      'information',
    )
  const range = parseDateRange(text)
  if (range === undefined) return
  const isPlaced = OFFSET.test(text)
  const isOut = isLeast ? range.high + (isPlaced ? 0 : WEST) <= moment : range.low - (isPlaced ? 0 : EAST) > moment
  const limited = `now ${distance < 0 ? '-' : '+'} ${Math.abs(distance)} ${limit.code}`
  if (isOut) report(check, 'value', rule, `${nameOf(node)} must be at ${isLeast ? 'least' : 'most'} ${limited}`)
}

/**
 * Offset at the end of a dateTime. Without it, any time zone is possible: a day begins up to 14 hours (`EAST`) before UTC and ends up to 12
 * hours (`WEST`) after UTC.
 */
const OFFSET = /T.*(?:Z|[+-]\d\d:\d\d)$/
const HOUR = 3_600_000
const [WEST, EAST] = [12 * HOUR, 14 * HOUR]

/**
 * Returns the current time plus a duration in milliseconds since 1970. Whole years and months follow the calendar. Returns undefined
 * without a clock, or if the unit is no duration in UCUM.
 */
function fromNow(distance: number, { system, code }: Element, { library }: CheckContext): number | undefined {
  const now = library.now?.()
  if (now === undefined || system !== UCUM || typeof code !== 'string') return undefined
  const months = code === 'a' ? distance * 12 : code === 'mo' ? distance : Number.NaN
  if (Number.isInteger(months)) return inMonths(now, months)
  const duration = library.inBaseUnits?.(code, distance)
  return duration === undefined || duration.unit !== library.inBaseUnits?.('s', 1)?.unit ? undefined : now + duration.value * 1_000
}

/** Returns the instant moved by months: the same day of that month, or its last day. */
function inMonths(now: number, months: number): number {
  const date = new Date(now)
  const day = date.getUTCDate()
  date.setUTCMonth(date.getUTCMonth() + months)
  if (date.getUTCDate() !== day) date.setUTCDate(0)
  return date.getTime()
}
