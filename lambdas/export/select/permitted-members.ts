/** The Group in an export of attributions for a partner. It lists only the members whose data the partner may receive. */
import { withoutLostReferences } from '../../access/view/contained-references.ts'
import { writeJson } from '../../fhir/json.ts'
import { type BaseUrls, toLocalReference } from '../../fhir/references.ts'
import { isElement } from '../../fhir/resource.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import { resourceOf } from '../versions/version-body.ts'

/**
 * Returns the Group without members that are other Patients than `patients` or no resource of this server, and without the contained resources that
 * only removed members referred to. Always removes the narrative and `quantity`: they could reveal a removed member, and their absence could too.
 */
export function withPermittedMembers(version: ResourceVersion, patients: ReadonlySet<string>, bases: BaseUrls): ResourceVersion {
  if (version.deleted) return version
  const group = resourceOf(version)
  const members: readonly unknown[] = Array.isArray(group.member) ? group.member : []
  const kept = members.filter((member) => {
    const name = nameOf(member, bases)
    // A member without a reference to a resource of this server could be any person.
    return name !== undefined && (!name.startsWith('Patient/') || patients.has(name))
  })
  if (kept.length === members.length && group.text === undefined && group.quantity === undefined) return version
  const { text: _text, quantity: _quantity, member: _member, ...rest } = group
  const shown = withoutLostReferences(group, { ...rest, ...(kept.length === 0 ? {} : { member: kept }) })
  return { ...version, body: Buffer.from(writeJson(shown)) }
}

function nameOf(member: unknown, bases: BaseUrls): string | undefined {
  const entity = isElement(member) ? member.entity : undefined
  return isElement(entity) && typeof entity.reference === 'string' ? toLocalReference(entity.reference, bases) : undefined
}
