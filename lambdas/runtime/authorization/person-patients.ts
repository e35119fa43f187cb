/** Patients for which a Patient or a RelatedPerson acts. https://hl7.org/fhir/R4/relatedperson.html */
import type { PersonReader } from '../../access/user-patients.ts'
import { parseDateRange } from '../../fhir/date-range.ts'
import { parseJsonBytes } from '../../fhir/json.ts'
import { type BaseUrls, toLocalReference } from '../../fhir/references.ts'
import { type Element, isElement } from '../../fhir/resource.ts'
import type { Clock } from '../../ports/execution/clock.ts'
import type { ResourceKey, ResourceReader } from '../../ports/store/resource-store.ts'
import type { SearchContextOf } from '../../search/search-context.ts'

/** Stores that decide access. `resources`: the unfiltered store, because the result determines the access of the caller. */
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
    // A user may be registered before the Patient is stored.
    return head?.deleted === true ? [] : [id]
  }

async function caredFor(parts: PersonParts, key: ResourceKey): Promise<readonly string[]> {
  const reading = parts.reading(key.tenant)
  const person = await readCurrentResource(parts, key)
  if (person === undefined || person.active === false || !isNow(person.period, parts.clock.now(), reading.timeZone)) return []
  const [of, patient] = referencedTypeAndId(person.patient, reading)
  return of === 'Patient' && patient !== undefined ? [patient] : []
}

/** Returns the current version regardless of the caller's access, or undefined if there is none or it is a deletion. */
export async function readCurrentResource({ resources }: Pick<PersonParts, 'resources'>, key: ResourceKey): Promise<Element | undefined> {
  const [head] = await resources.current([key])
  const tree = head === undefined || head.deleted ? undefined : parseJsonBytes(head.body)
  return isElement(tree) ? tree : undefined
}

/** Returns type and id of a literal reference to this server. Returns an empty list for other servers and for references without a URL. */
export function referencedTypeAndId(reference: unknown, bases: BaseUrls): readonly string[] {
  const text = isElement(reference) ? reference.reference : undefined
  return (typeof text === 'string' ? toLocalReference(text, bases) : undefined)?.split('/') ?? []
}

/** Whether the period includes the instant. A bound that cannot be parsed excludes every instant. */
function isNow(period: unknown, now: number, timeZone: string | undefined): boolean {
  if (!isElement(period)) return true
  const { start, end } = period
  const begins = typeof start === 'string' ? (parseDateRange(start, timeZone)?.low ?? Number.POSITIVE_INFINITY) : Number.NEGATIVE_INFINITY
  const ends = typeof end === 'string' ? (parseDateRange(end, timeZone)?.high ?? Number.NEGATIVE_INFINITY) : Number.POSITIVE_INFINITY
  return begins <= now && now < ends
}
