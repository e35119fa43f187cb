/** Searches and reads stored data of members, as the operator may see it. A partner may not search these types itself. */
import { toLocalReference } from '../fhir/references.ts'
import { isElement, type Resource } from '../fhir/resource.ts'
import type { Plan } from '../ports/search/plan.ts'
import type { Searches } from '../ports/search/search-index.ts'
import type { ResourceReader } from '../ports/store/resource-store.ts'
import { resolveChains, unrestrictedSearchAccess } from '../search/query/condition.ts'
import type { ParameterPairs } from '../search/query/parameter-pairs.ts'
import { parseSearch } from '../search/query/query.ts'
import type { SearchContext } from '../search/search-context.ts'
import { referenceOf } from './elements.ts'

/**
 * Stored data of one tenant. `index`: index of conditional interactions, so that recent writes count. Its searches throw the faults of these
 * interactions if it lags too far behind.
 */
export type MemberData = {
  readonly tenant: string
  readonly reading: SearchContext
  readonly index: Pick<Searches, 'find' | 'distinct'>
  readonly heads: ResourceReader['heads']
  /** Called between parts of long work, so that other requests can run. Absent: the thread serves no requests. */
  readonly pause?: () => Promise<void> | undefined
}

/** Maximum links from a replaced Patient to its successor. */
export const MAX_LINKS = 3

/** Resources that a search found, in their current versions. `more`: the search has more matches than the limit. */
export type FoundResources = { readonly resources: readonly Resource[]; readonly more: boolean }

/** Returns the current versions of at most `limit` matches. Leaves out matches that were deleted after the search. */
export async function findCurrent(data: MemberData, type: string, pairs: ParameterPairs, limit: number): Promise<FoundResources> {
  const { ids, more } = await findMatches(data, type, pairs, limit)
  const resources = await readCurrent(data, type, ids)
  return { resources: resources.filter((each) => each !== undefined), more }
}

/** Returns the ids of at most `limit` matches. `more`: the search has more. */
export async function findMatches(
  { tenant, reading, index }: MemberData,
  type: string,
  pairs: ParameterPairs,
  limit: number,
): Promise<{ readonly ids: readonly string[]; readonly more: boolean }> {
  const searcher = unrestrictedSearchAccess(tenant)
  const { where } = parseSearch(type, pairs, { ...reading, handling: 'strict', criteriaOnly: true })
  const predicate = await resolveChains(where, searcher, index)
  const types = [type]
  const plan: Plan = { tenant, types, where: predicate, access: searcher.rules(types), order: [], limit, total: 'none' }
  const { hits, more } = await index.find(plan)
  return { ids: hits.map(({ id }) => id), more }
}

/**
 * Returns the current versions in the order of the ids. A missing or deleted resource is undefined. Throws the fault of a damaged version.
 * `isRead`: whether a body matters. The others are not parsed, and are undefined too.
 */
export async function readCurrent(
  data: MemberData,
  type: string,
  ids: readonly string[],
  isRead: (body: Uint8Array) => boolean = () => true,
): Promise<readonly (Resource | undefined)[]> {
  const bodies = await readBodies(data, type, ids)
  return bodies.map((body) => {
    if (body === undefined || !isRead(body)) return undefined
    // JSON.parse is enough: the body was checked when it was stored, and matches compare no decimals.
    const resource: unknown = JSON.parse(TEXT.decode(body))
    return isElement(resource) ? (resource as Resource) : undefined
  })
}

/** Returns the bodies of the current versions, as `readCurrent` does. */
export async function readBodies(
  { tenant, heads, pause }: MemberData,
  type: string,
  ids: readonly string[],
): Promise<readonly (Uint8Array | undefined)[]> {
  if (ids.length === 0) return []
  const found = await heads(ids.map((id) => ({ tenant, type, id })))
  // Parsing a large resource takes as long as reading it.
  await pause?.()
  return found.map((head) => {
    if (head === undefined || head.deleted) return undefined
    if ('damage' in head) throw head.damage
    return head.body
  })
}

const TEXT = new TextDecoder()

/** Returns the value of a search criterion that finds exactly this text. https://hl7.org/fhir/R4/search.html#escaping */
export const escapeValue = (text: string): string => text.replace(/[\\$,|]/g, '\\$&')

/** Returns the id of the Patient of this server that a Reference names, or undefined if it names none. */
export const patientIdOf = (reference: unknown, { reading }: Pick<MemberData, 'reading'>): string | undefined => {
  const local = toLocalReference(referenceOf(reference) ?? '', reading)
  return local?.startsWith(PATIENT) ? local.slice(PATIENT.length) : undefined
}

const PATIENT = 'Patient/'
