/** Finds the one Patient that a person and a card name. */
import { toLocalReference } from '../../fhir/references.ts'
import type { Resource } from '../../fhir/resource.ts'
import { itemsOf, type PartyIdentifier, referenceOf } from '../elements.ts'
import { escapeValue, type FoundResources, findCurrent, MAX_LINKS, type MemberData, readCurrent } from '../member-data.ts'
import { type Candidate, cardOf, cardOfPatient, type FoundCard, isMember, type SentPerson } from './match-rules.ts'

/** Outcome of a match. `several`: ids of the Patients, for the operator. A partner receives the same response for `none` and `several`. */
export type MemberMatch =
  | { readonly kind: 'match'; readonly patient: Resource }
  | { readonly kind: 'none' }
  | { readonly kind: 'several'; readonly ids: readonly string[] }

/** Maximum Patients that one card may name. A card with more names no member. */
const MAX_CANDIDATES = 50
/** Maximum Coverages with one card. A card with more names no member. A member may have a Coverage with the same card for each year. */
const MAX_COVERAGES = 500

const NONE: MemberMatch = { kind: 'none' }

export async function findMember(data: MemberData, person: SentPerson): Promise<MemberMatch> {
  const cards = await cardsByPatient(data, person)
  if (cards === undefined || cards.size > MAX_CANDIDATES) return NONE
  const found = (await candidatesOf(data, cards)).filter((candidate) => isMember(person, candidate))
  const [first, ...others] = found
  if (first === undefined) return NONE
  // guard: member-match-is-single
  if (others.length > 0) return { kind: 'several', ids: found.map(({ patient }) => patient.id!).toSorted() }
  return { kind: 'match', patient: first.patient }
}

type Cards = ReadonlyMap<string, readonly FoundCard[]>

/** Returns the cards that were found, by the id of their Patient. Returns undefined if too many resources have the card. */
async function cardsByPatient(data: MemberData, { card }: SentPerson): Promise<Cards | undefined> {
  const { identifiers, memberIdentifiers, subscriberId } = card
  const numbers = subscriberId === undefined ? [] : [{ value: subscriberId }]
  const [byIdentifier, bySubscriber, patients] = await Promise.all([
    findAny(data, 'Coverage', 'identifier', identifiers, MAX_COVERAGES),
    findAny(data, 'Coverage', 'subscriber-id', numbers, MAX_COVERAGES),
    findAny(data, 'Patient', 'identifier', memberIdentifiers, MAX_CANDIDATES),
  ])
  if (byIdentifier.more || bySubscriber.more || patients.more) return undefined
  const found = new Map<string, FoundCard[]>()
  const add = (id: string | undefined, each: FoundCard | undefined): void => {
    if (id !== undefined && each !== undefined) found.set(id, [...(found.get(id) ?? []), each])
  }
  for (const coverage of [...byIdentifier.resources, ...bySubscriber.resources])
    add(patientIdOf(coverage.beneficiary, data), cardOf(coverage, card))
  for (const patient of patients.resources) add(patient.id, cardOfPatient(patient, card))
  return found
}

const findAny = async (
  data: MemberData,
  type: string,
  parameter: string,
  identifiers: readonly PartyIdentifier[],
  limit: number,
): Promise<FoundResources> =>
  identifiers.length === 0
    ? { resources: [], more: false }
    : findCurrent(data, type, [[parameter, identifiers.map(criterionOf).join(',')]], limit)

const criterionOf = ({ system, value }: PartyIdentifier): string =>
  system === undefined ? escapeValue(value) : `${escapeValue(system)}|${escapeValue(value)}`

const patientIdOf = (reference: unknown, { reading }: MemberData): string | undefined => {
  const local = toLocalReference(referenceOf(reference) ?? '', reading)
  return local?.startsWith(PATIENT) ? local.slice(PATIENT.length) : undefined
}

const PATIENT = 'Patient/'

/** Returns each Patient once, with all of its cards. Replaced Patients become their successors. Inactive ones are left out. */
async function candidatesOf(data: MemberData, cards: Cards): Promise<readonly Candidate[]> {
  const found = new Map<string, Candidate>()
  let left = cards
  for (let links = 0; left.size > 0 && links <= MAX_LINKS; links++) {
    const ids = [...left.keys()]
    const next = new Map<string, readonly FoundCard[]>()
    for (const [i, patient] of (await readCurrent(data, 'Patient', ids)).entries()) {
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
