/** Period in which a partner may export the members of a Group. */
import { isElement, type Resource } from '../../fhir/resource.ts'
import { covers, itemsOf } from '../elements.ts'

/**
 * Whether the Group is in force. Its characteristics that name an organization have a period. A payer also ends a Group by making it inactive.
 * `now`: milliseconds since 1970.
 */
export const isGroupInForce = ({ active, characteristic }: Resource, now: number, timeZone?: string): boolean =>
  active !== false &&
  itemsOf(characteristic).every(({ valueReference, period }) => !isElement(valueReference) || covers(period, now, timeZone))
