/** Period in which a partner may export the members of a Group. */
import { isElement, type Resource } from '../../fhir/resource.ts'
import { covers, endOf, itemsOf, startOf } from '../elements.ts'

/**
 * Whether the Group is in force. Its characteristics that name an organization have a period. A payer also ends a Group by making it inactive.
 * `now`: milliseconds since 1970.
 */
export const isGroupInForce = ({ active, characteristic }: Resource, now: number, timeZone?: string): boolean =>
  active !== false &&
  itemsOf(characteristic).every(({ valueReference, period }) => !isElement(valueReference) || covers(period, now, timeZone))

/**
 * Returns the end of the period, in milliseconds since 1970. A Group without members has no end, so its start applies.
 * Without a start it is the earliest instant.
 */
export function groupEndOf({ characteristic }: Resource, timeZone?: string): number {
  const periods = itemsOf(characteristic).flatMap(({ valueReference, period }) => (isElement(valueReference) ? [period] : []))
  return Math.max(
    Number.NEGATIVE_INFINITY,
    ...periods.map((period) => endOf(period, timeZone) ?? startOf(period, timeZone) ?? Number.NEGATIVE_INFINITY),
  )
}
