/** Patients for which a user acts: the user's own Patient, or the patient of a RelatedPerson. https://hl7.org/fhir/R4/relatedperson.html */
import type { PersonReader } from '../../access/user-patients.ts'
import { parseDateRange } from '../../fhir/date-range.ts'
import { parseJsonBytes } from '../../fhir/json.ts'
import { type BaseUrls, toLocalReference } from '../../fhir/references.ts'
import { type Element, isElement } from '../../fhir/resource.ts'
import type { Clock } from '../../ports/execution/clock.ts'
import type { ResourceKey, ResourceReader } from '../../ports/store/resource-store.ts'
import type { SearchContextOf } from '../../search/search-context.ts'

/** Ports that decide for whom a user acts. `resources`: store without an access filter, because the result determines the access. */
export type PersonParts = {
  readonly resources: Pick<ResourceReader, 'current'>
  readonly clock: Pick<Clock, 'now'>
  readonly reading: SearchContextOf
}

export const personReader =
  (parts: PersonParts): PersonReader =>
  async (fhirUser, tenant) => {
    const reading = parts.reading(tenant)
    const [type, id = ''] = referencedTypeAndId({ reference: fhirUser }, reading)
    if (type === 'RelatedPerson') return caredFor(parts, { tenant, type, id })
    if (type !== 'Patient') return undefined
    const [head] = await parts.resources.current([{ tenant, type, id }])
    // Accept a Patient that is not stored: the user may be registered earlier. A deleted Patient gives no access.
    return head?.deleted === true ? [] : [id]
  }

async function caredFor(parts: PersonParts, key: ResourceKey): Promise<readonly string[]> {
  const reading = parts.reading(key.tenant)
  const person = await readCurrentResource(parts, key)
  if (person === undefined || person.active === false || !isNow(person.period, parts.clock.now(), reading.timeZone)) return []
  const [of, patient] = referencedTypeAndId(person.patient, reading)
  return of === 'Patient' && patient !== undefined ? [patient] : []
}

/** Returns the current version regardless of the caller's access. Returns undefined if the resource is missing or deleted. */
export async function readCurrentResource({ resources }: Pick<PersonParts, 'resources'>, key: ResourceKey): Promise<Element | undefined> {
  const [head] = await resources.current([key])
  const tree = head === undefined || head.deleted ? undefined : parseJsonBytes(head.body)
  return isElement(tree) ? tree : undefined
}

/**
 * Returns type and id of a literal reference to a resource of this server. Returns an empty list for other servers and for references
 * without a URL.
 */
export function referencedTypeAndId(reference: unknown, bases: BaseUrls): readonly string[] {
  const text = isElement(reference) ? reference.reference : undefined
  return (typeof text === 'string' ? toLocalReference(text, bases) : undefined)?.split('/') ?? []
}

/** Whether the period includes the instant `now`. A missing period includes every instant, a bound that cannot be parsed excludes all. */
function isNow(period: unknown, now: number, timeZone: string | undefined): boolean {
  if (!isElement(period)) return true
  const { start, end } = period
  const begins = typeof start === 'string' ? (parseDateRange(start, timeZone)?.low ?? Number.POSITIVE_INFINITY) : Number.NEGATIVE_INFINITY
  const ends = typeof end === 'string' ? (parseDateRange(end, timeZone)?.high ?? Number.NEGATIVE_INFINITY) : Number.POSITIVE_INFINITY
  return begins <= now && now < ends
}
