/**
 * Groups that the payer wrote for a partner, as the partner reads them: without members. The payer may list members who opted out, and a
 * comparison with an export would reveal them. An export of attributions lists the members whose data the partner may receive.
 * http://hl7.org/fhir/us/davinci-pdex/
 */
import { PARTNER_MARK_SYSTEM } from '../../access/partner-mark.ts'
import { withoutLostReferences } from '../../access/view/contained-references.ts'
import { withSubsettedTag } from '../../access/view/view.ts'
import { resourceOf } from '../../access/view/viewed-version.ts'
import { writeJson } from '../../fhir/json.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'

/**
 * Returns the Group without members, and without the narrative and `quantity`, which could reveal them. Returns other types and the Group of a match
 * unchanged, because its partner sent the members. Recognizes such a Group by its mark without parsing it, because it may contain megabytes of sent
 * persons.
 */
export function withoutListedMembers(version: ResourceVersion): ResourceVersion {
  const { type, body } = version
  if (type !== 'Group' || body.length === 0) return version
  // guard: listed-members-are-not-read
  if (Buffer.from(body.buffer, body.byteOffset, body.length).includes(PARTNER_MARK_SYSTEM)) return version
  const group = resourceOf(version)
  const { text: _text, quantity: _quantity, member, meta, ...rest } = group
  if (member === undefined) return version
  return { ...version, body: Buffer.from(writeJson(withoutLostReferences(group, { ...rest, meta: withSubsettedTag(meta) }))) }
}
