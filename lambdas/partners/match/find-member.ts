/** Finds the one Patient that a person and a card name. */
import type { Resource } from '../../fhir/resource.ts'
import { itemsOf } from '../elements.ts'
import { MAX_LINKS, type MemberData, patientIdOf, readCurrent } from '../member-data.ts'
import { type CardHolders, findCardHolders } from './card-holders.ts'
import { type Candidate, type FoundCard, isMember, type SentPerson } from './match-rules.ts'

/** Outcome of a match. `several`: ids of the Patients, for the operator. A partner receives the same response for `none` and `several`. */
export type MemberMatch =
  | { readonly kind: 'match'; readonly patient: Resource }
  | { readonly kind: 'none' }
  | { readonly kind: 'several'; readonly ids: readonly string[] }

const NONE: MemberMatch = { kind: 'none' }

/** Returns the outcome for one person. It equals the outcome of this person in `findMembers`. */
export const findMember = async (data: MemberData, person: SentPerson): Promise<MemberMatch> => (await findMembers(data, [person]))[0]!

/** Returns the outcome for each person, in their order. */
export async function findMembers(data: MemberData, persons: readonly SentPerson[]): Promise<readonly MemberMatch[]> {
  const holders = await findCardHolders(
    data,
    persons.map(({ card }) => card),
  )
  const patients = new PatientCache(data)
  // The successors of replaced Patients are few. They are read one by one.
  await patients.read([...new Set(holders.flatMap((each) => [...(each?.keys() ?? [])]))])
  const outcomes: MemberMatch[] = []
  for (const [i, person] of persons.entries()) outcomes.push(await outcomeOf(data, patients, person, holders[i]))
  return outcomes
}

async function outcomeOf(
  data: MemberData,
  patients: PatientCache,
  person: SentPerson,
  holders: CardHolders | undefined,
): Promise<MemberMatch> {
  if (holders === undefined) return NONE
  const found = (await candidatesOf(data, patients, holders)).filter((candidate) => isMember(person, candidate))
  const [first, ...others] = found
  if (first === undefined) return NONE
  // guard: member-match-is-single
  if (others.length > 0) return { kind: 'several', ids: found.map(({ patient }) => patient.id!).toSorted() }
  return { kind: 'match', patient: first.patient }
}

/** Maximum Patients that are read at once. */
const PAGE = 100

/** Reads each Patient once. */
class PatientCache {
  readonly #data: MemberData
  readonly #known = new Map<string, Resource | undefined>()

  constructor(data: MemberData) {
    this.#data = data
  }

  /** Returns the current versions in the order of the ids. */
  async read(ids: readonly string[]): Promise<readonly (Resource | undefined)[]> {
    const missing = ids.filter((id) => !this.#known.has(id))
    for (let first = 0; first < missing.length; first += PAGE) {
      const page = missing.slice(first, first + PAGE)
      for (const [i, patient] of (await readCurrent(this.#data, 'Patient', page)).entries()) this.#known.set(page[i]!, patient)
    }
    return ids.map((id) => this.#known.get(id))
  }
}

/** Returns each Patient once, with all of its cards. Replaced Patients become their successors. Inactive ones are left out. */
async function candidatesOf(data: MemberData, patients: PatientCache, cards: CardHolders): Promise<readonly Candidate[]> {
  const found = new Map<string, Candidate>()
  let left = cards
  for (let links = 0; left.size > 0 && links <= MAX_LINKS; links++) {
    const ids = [...left.keys()]
    const next = new Map<string, readonly FoundCard[]>()
    for (const [i, patient] of (await patients.read(ids)).entries()) {
      if (patient === undefined) continue
      const id = ids[i]!
      const own = left.get(id)!
      const successor = successorOf(patient, data)
      if (successor !== undefined) next.set(successor, [...(next.get(successor) ?? []), ...own])
      else if (patient.active !== false) found.set(id, { patient, cards: [...(found.get(id)?.cards ?? []), ...own] })
    }
    left = next
  }
  return [...found.values()]
}

/** Returns the id of the Patient that replaces this one. https://hl7.org/fhir/R4/valueset-link-type.html */
function successorOf({ link }: Resource, data: MemberData): string | undefined {
  const replacement = itemsOf(link).find(({ type }) => type === 'replaced-by')
  return replacement === undefined ? undefined : patientIdOf(replacement.other, data)
}
