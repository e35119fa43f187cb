/** The patients a person cares for, as the RelatedPerson says. https://hl7.org/fhir/R4/relatedperson.html */
import { WHOLE_ACCESS } from '../access/access.ts'
import { dateRange } from '../fhir/date-range.ts'
import { parseJsonBytes } from '../fhir/json.ts'
import { localReference } from '../fhir/references.ts'
import { isElement } from '../fhir/resource.ts'
import type { Ports } from '../interactions/interaction.ts'
import type { ReadingOf } from '../search/reading.ts'

export type CaredForParts = { readonly ports: Pick<Ports, 'resources' | 'clock'>; readonly reading: ReadingOf }

/** Ids. None where the user is somebody else, and none of who does not care for the patient now. */
export async function caredFor({ ports, reading: readingOf }: CaredForParts, fhirUser: string | undefined, tenant: string) {
  const reading = readingOf(tenant)
  const name = localReference(fhirUser ?? '', reading.baseUrl)
  const [type, id = ''] = name?.split('/') ?? []
  if (type !== 'RelatedPerson') return []
  const [head] = await ports.resources({ access: WHOLE_ACCESS, reading }, 'r').current([{ tenant, type, id }])
  if (head === undefined || head.deleted) return []
  const person = parseJsonBytes(head.body)
  if (!isElement(person) || person.active === false || !isNow(person.period, ports.clock.now(), reading.timeZone)) return []
  const reference = isElement(person.patient) ? person.patient.reference : undefined
  const [of, patient] = (typeof reference === 'string' ? localReference(reference, reading.baseUrl) : undefined)?.split('/') ?? []
  return of === 'Patient' && patient !== undefined ? [patient] : []
}

/** A bound that cannot be read is not passed. */
function isNow(period: unknown, now: number, timeZone: string | undefined): boolean {
  if (!isElement(period)) return true
  const { start, end } = period
  const begins = typeof start === 'string' ? (dateRange(start, timeZone)?.low ?? Number.POSITIVE_INFINITY) : Number.NEGATIVE_INFINITY
  const ends = typeof end === 'string' ? (dateRange(end, timeZone)?.high ?? Number.NEGATIVE_INFINITY) : Number.POSITIVE_INFINITY
  return begins <= now && now < ends
}
