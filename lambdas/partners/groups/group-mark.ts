/** Mark of the Groups of matches. */
import { PARTNER_MARK_SYSTEM } from '../../access/partner-mark.ts'
import type { Resource } from '../../fhir/resource.ts'
import { itemsOf } from '../elements.ts'

/** Returns the mark of the partner that matched the members of the Group, or undefined for a Group that the payer wrote. */
export function markOfGroup({ identifier }: Resource): string | undefined {
  const mark = itemsOf(identifier).find(({ system }) => system === PARTNER_MARK_SYSTEM)?.value
  return typeof mark === 'string' ? mark : undefined
}
