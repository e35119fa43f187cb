/** Least and greatest values. https://hl7.org/fhir/R4/elementdefinition-definitions.html#ElementDefinition.minValue_x_ */
import { parseDateRange } from '../../date-range.ts'
import { decimalTextOf, isDecimal } from '../../json.ts'
import { compareOperands } from '../../path/compare.ts'
import { type Element, isElement } from '../../resource.ts'
import { type CheckContext, nameOf, report } from '../check-context.ts'
import type { ProfileNode } from '../profile-tree.ts'
import { UCUM } from '../rule-based-systems.ts'
import { describeExpected } from './value-text.ts'

type Limit = { readonly rule: 'minValue' | 'maxValue'; readonly limit: unknown; readonly isLeast: boolean }

export function checkLimit(said: Limit, value: unknown, node: ProfileNode, check: CheckContext): void {
  const { rule, limit, isLeast } = said
  if (isElement(limit) && isMoment(value)) return checkFromNow({ ...said, limit }, value, node, check)
  const order = orderOf(value, limit, check) ?? 0
  if (isLeast ? order < 0 : order > 0)
    report(check, 'value', rule, `${nameOf(node)} must be at ${isLeast ? 'least' : 'most'} ${describeExpected(limit)}`)
}

/** Quantities by what they are in base units: 100 mg are less than 10 g. undefined: the two cannot be ordered. */
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

/** A duration is subtracted from the current clock for the least moment that is allowed, and added for the greatest. */
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

/** What has no offset may be of any: a day is over everywhere twelve hours after it is in UTC. */
const OFFSET = /T.*(?:Z|[+-]\d\d:\d\d)$/
const HOUR = 3_600_000
const [WEST, EAST] = [12 * HOUR, 14 * HOUR]

/** Years and months as the calendar has them. undefined: it is no duration, or there is no clock. */
function fromNow(distance: number, { system, code }: Element, { library }: CheckContext): number | undefined {
  const now = library.now?.()
  if (now === undefined || system !== UCUM || typeof code !== 'string') return undefined
  const months = code === 'a' ? distance * 12 : code === 'mo' ? distance : Number.NaN
  if (Number.isInteger(months)) return inMonths(now, months)
  const duration = library.inBaseUnits?.(code, distance)
  return duration === undefined || duration.unit !== library.inBaseUnits?.('s', 1)?.unit ? undefined : now + duration.value * 1_000
}

/** The same day of another month, or its last one. */
function inMonths(now: number, months: number): number {
  const date = new Date(now)
  const day = date.getUTCDate()
  date.setUTCMonth(date.getUTCMonth() + months)
  if (date.getUTCDate() !== day) date.setUTCDate(0)
  return date.getTime()
}
