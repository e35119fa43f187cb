/** Finds resources of many Patients in few queries. */
import type { Resource } from '../../fhir/resource.ts'
import type { ParameterPairs } from '../../search/query/parameter-pairs.ts'
import { findMatches, type MemberData, readCurrent } from '../member-data.ts'

/** Maximum Patients of one query. */
const EACH = 500
/** Maximum resources of one query. A query with more is repeated for each half of the Patients. A single Patient with more is not read. */
const MAX_FOUND = 1_000
/** Maximum resources that are read at once. */
const AT_ONCE = 50

/**
 * Yields the current versions of the resources that a query finds, possibly repeatedly. `pairs`: returns the query for Patients by their ids.
 * `leaveUnread`: receives each Patient that has too many resources to read. `isRead`: whether a body matters; the others are not parsed.
 */
export async function* findByPatients(
  data: MemberData,
  type: string,
  ids: readonly string[],
  pairs: (ids: readonly string[]) => ParameterPairs,
  leaveUnread: (id: string) => void,
  isRead?: (body: Uint8Array) => boolean,
): AsyncGenerator<Resource> {
  for await (const found of findIdsByPatients(data, type, ids, pairs, leaveUnread))
    for (let first = 0; first < found.length; first += AT_ONCE)
      for (const resource of await readCurrent(data, type, found.slice(first, first + AT_ONCE), isRead))
        if (resource !== undefined) yield resource
}

/** Yields the ids of these resources, one list for each query. */
export async function* findIdsByPatients(
  data: MemberData,
  type: string,
  ids: readonly string[],
  pairs: (ids: readonly string[]) => ParameterPairs,
  leaveUnread: (id: string) => void,
): AsyncGenerator<readonly string[]> {
  for (let first = 0; first < ids.length; first += EACH) {
    const waiting = [ids.slice(first, first + EACH)]
    for (let asked = waiting.pop(); asked !== undefined; asked = waiting.pop()) {
      const { ids: found, more } = await findMatches(data, type, pairs(asked), MAX_FOUND)
      if (!more) yield found
      else if (asked.length === 1) leaveUnread(asked[0]!)
      else waiting.push(asked.slice(0, asked.length / 2), asked.slice(asked.length / 2))
    }
  }
}

/** Returns the ids of the Patients that are stored and not deleted. */
export async function findStoredPatients(data: MemberData, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const stored = new Set<string>()
  const query = (asked: readonly string[]): ParameterPairs => [['_id', asked.join(',')]]
  for await (const found of findIdsByPatients(data, 'Patient', ids, query, () => undefined)) for (const id of found) stored.add(id)
  // The index lacks versions that it cannot read.
  const others = ids.filter((id) => !stored.has(id))
  for (let first = 0; first < others.length; first += AT_ONCE) {
    const keys = others.slice(first, first + AT_ONCE).map((id) => ({ tenant: data.tenant, type: 'Patient', id }))
    for (const head of await data.heads(keys)) if (head !== undefined && !head.deleted) stored.add(head.id)
  }
  return stored
}

export const patientNameOf = (id: string): string => `Patient/${id}`
