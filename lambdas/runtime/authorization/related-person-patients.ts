/** The patients a person cares for, as the RelatedPerson says. https://hl7.org/fhir/R4/relatedperson.html */
import { WHOLE_ACCESS } from '../../access/access.ts'
import { dateRange } from '../../fhir/date-range.ts'
import { parseJsonBytes } from '../../fhir/json.ts'
import { type Bases, localReference } from '../../fhir/references.ts'
import { type Element, isElement } from '../../fhir/resource.ts'
import type { Ports } from '../../interactions/interaction.ts'
import type { ResourceKey } from '../../ports/store/resource-store.ts'
import type { ReadingOf } from '../../search/search-context.ts'

export type CaredForParts = { readonly ports: Pick<Ports, 'resources' | 'clock'>; readonly reading: ReadingOf }

/** Ids. None where the user is somebody else, and none of who does not care for the patient now. */
export async function caredFor(parts: CaredForParts, fhirUser: string | undefined, tenant: string): Promise<readonly string[]> {
  const reading = parts.reading(tenant)
  const [type, id = ''] = referred({ reference: fhirUser }, reading)
  if (type !== 'RelatedPerson') return []
  const person = await resourceOf(parts, { tenant, type, id })
  if (person === undefined || person.active === false || !isNow(person.period, parts.ports.clock.now(), reading.timeZone)) return []
  const [of, patient] = referred(person.patient, reading)
  return of === 'Patient' && patient !== undefined ? [patient] : []
}

/** Whoever asks; undefined: there is none. */
export async function resourceOf({ ports, reading }: CaredForParts, key: ResourceKey): Promise<Element | undefined> {
  const [head] = await ports.resources({ access: WHOLE_ACCESS, reading: reading(key.tenant) }, 'r').current([key])
  const tree = head === undefined || head.deleted ? undefined : parseJsonBytes(head.body)
  return isElement(tree) ? tree : undefined
}

/** Type and id of a resource of this server; none of another one, or of one that is only described. */
export function referred(reference: unknown, bases: Bases): readonly string[] {
  const text = isElement(reference) ? reference.reference : undefined
  return (typeof text === 'string' ? localReference(text, bases) : undefined)?.split('/') ?? []
}

/** A bound that cannot be read is not passed. */
function isNow(period: unknown, now: number, timeZone: string | undefined): boolean {
  if (!isElement(period)) return true
  const { start, end } = period
  const begins = typeof start === 'string' ? (dateRange(start, timeZone)?.low ?? Number.POSITIVE_INFINITY) : Number.NEGATIVE_INFINITY
  const ends = typeof end === 'string' ? (dateRange(end, timeZone)?.high ?? Number.NEGATIVE_INFINITY) : Number.POSITIVE_INFINITY
  return begins <= now && now < ends
}
