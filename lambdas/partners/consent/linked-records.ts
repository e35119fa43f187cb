/** Finds the records of one person: a Patient, those that it replaced, and those that replaced it. http://hl7.org/fhir/R4/patient.html#merge */
import { toLocalReference } from '../../fhir/references.ts'
import type { Resource } from '../../fhir/resource.ts'
import { itemsOf, referenceOf } from '../elements.ts'
import { MAX_LINKS, type MemberData } from '../member-data.ts'
import { findByPatients, patientNameOf } from './patient-lookup.ts'

/** `patientsOf`: ids of the Patients of the same person, by the id of a record. `unread`: Patients with more links than the limit. */
export type LinkedRecords = { readonly patientsOf: ReadonlyMap<string, readonly string[]>; readonly unread: ReadonlySet<string> }

/** Returns the records of these Patients, each Patient itself included. Follows as many links as a match. `patients`: ids. */
export async function findLinkedRecords(data: MemberData, patients: readonly string[]): Promise<LinkedRecords> {
  const patientsOf = new Map<string, readonly string[]>(patients.map((id) => [id, [id]]))
  const unread = new Set<string>()
  let next: readonly string[] = [...patientsOf.keys()]
  for (let links = 0; next.length > 0 && links < MAX_LINKS; links++) {
    const reached = new Set<string>()
    const isNext = new Set(next)
    const connect = (from: string, to: string): void => {
      const own = patientsOf.get(to) ?? []
      const more = (patientsOf.get(from) ?? []).filter((each) => !own.includes(each))
      if (more.length === 0) return
      patientsOf.set(to, [...own, ...more])
      reached.add(to)
    }
    const leaveUnread = (id: string): void => patientsOf.get(id)?.forEach((patient) => void unread.add(patient))
    const linking = findByPatients(data, 'Patient', next, (names) => [['link', names.map(patientNameOf).join(',')]], leaveUnread)
    for await (const record of linking)
      for (const id of mergedIdsOf(record, data)) if (record.id !== undefined && isNext.has(id)) connect(id, record.id)
    const linked = findByPatients(data, 'Patient', next, (ids) => [['_id', ids.join(',')], HAS_LINK], leaveUnread)
    for await (const record of linked) for (const id of mergedIdsOf(record, data)) if (record.id !== undefined) connect(record.id, id)
    next = [...reached]
  }
  return { patientsOf, unread }
}

const HAS_LINK = ['link:missing', 'false'] as const

const PATIENT = 'Patient/'

/** Types of links between merged records. Either record may contain the link. https://hl7.org/fhir/R4/valueset-link-type.html */
const MERGES: readonly unknown[] = ['replaced-by', 'replaces']

/** Returns the ids of the Patients that a record replaced, or that replaced it. */
const mergedIdsOf = ({ link }: Resource, { reading }: MemberData): readonly string[] =>
  itemsOf(link).flatMap(({ type, other }) => {
    const name = MERGES.includes(type) ? toLocalReference(referenceOf(other) ?? '', reading) : undefined
    return name?.startsWith(PATIENT) ? [name.slice(PATIENT.length)] : []
  })
