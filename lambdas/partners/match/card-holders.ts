/** Finds the Patients of cards. Many cards need few searches, and each card has the same result as in a search for it alone. */
import type { Resource } from '../../fhir/resource.ts'
import { MAX_SEARCHABLE_CHARACTERS } from '../../search/text-folding.ts'
import { type PartyIdentifier, textOf } from '../elements.ts'
import { escapeValue, findCurrent, type MemberData, patientIdOf } from '../member-data.ts'
import { type Card, cardOf, cardOfPatient, type FoundCard, identifiersOf, isSameIdentifier } from './match-rules.ts'

/** Maximum Patients that one card may name. A card with more names no member. */
export const MAX_CANDIDATES = 50
/** Maximum Coverages with one card. A card with more names no member. A member may have a Coverage with the same card for each year. */
const MAX_COVERAGES = 500
/** Maximum numbers of one search. */
const NUMBERS = 500
/** Expected resources for each number. A search that finds more on average is divided. */
const EXPECTED = 4

/** Cards that were found, by the id of their Patient. */
export type CardHolders = ReadonlyMap<string, readonly FoundCard[]>

/** Search for resources with the numbers of a card. `limit`: maximum resources with one card. */
type Lookup = {
  readonly type: 'Coverage' | 'Patient'
  readonly parameter: string
  readonly limit: number
  readonly sent: (card: Card) => readonly PartyIdentifier[]
  readonly stored: (resource: Resource) => readonly PartyIdentifier[]
}

const numberOf = (text: string | undefined): readonly PartyIdentifier[] => (text === undefined ? [] : [{ value: text }])

const LOOKUPS: readonly Lookup[] = [
  { type: 'Coverage', parameter: 'identifier', limit: MAX_COVERAGES, sent: ({ identifiers }) => identifiers, stored: identifiersOf },
  {
    type: 'Coverage',
    parameter: 'subscriber-id',
    limit: MAX_COVERAGES,
    sent: ({ subscriberId }) => numberOf(subscriberId),
    stored: ({ subscriberId }) => numberOf(textOf(subscriberId)),
  },
  {
    type: 'Patient',
    parameter: 'identifier',
    limit: MAX_CANDIDATES,
    sent: ({ memberIdentifiers }) => memberIdentifiers,
    stored: identifiersOf,
  },
]

/** Returns the holders of each card, or undefined for a card that too many resources have. */
export async function findCardHolders(data: MemberData, cards: readonly Card[]): Promise<readonly (CardHolders | undefined)[]> {
  const found = await Promise.all(LOOKUPS.map((lookup) => findCarriers(data, lookup, cards)))
  return cards.map((card, i) => {
    const own = found.map((each) => each[i])
    if (own.includes(undefined)) return undefined
    const holders = new Map<string, FoundCard[]>()
    const add = (id: string | undefined, each: FoundCard | undefined): void => {
      if (id !== undefined && each !== undefined) holders.set(id, [...(holders.get(id) ?? []), each])
    }
    for (const resource of own.flatMap((each) => each ?? []))
      if (resource.resourceType === 'Patient') add(resource.id, cardOfPatient(resource, card))
      else add(patientIdOf(resource.beneficiary, data), cardOf(resource, card))
    return holders.size > MAX_CANDIDATES ? undefined : holders
  })
}

/** Returns the resources with each card, or undefined for a card with more than the limit. */
async function findCarriers(
  data: MemberData,
  lookup: Lookup,
  cards: readonly Card[],
): Promise<readonly (readonly Resource[] | undefined)[]> {
  const { limit, sent, stored } = lookup
  const numbers = cards.map((card) => sent(card).filter(isSearchable))
  const { resources, overfull } = await findAny(data, lookup, [...new Set(numbers.flat().map(criterionOf))])
  const byValue = new Map<string, Set<Resource>>()
  for (const resource of resources)
    for (const { value } of stored(resource)) {
      const key = value.toLowerCase()
      byValue.set(key, (byValue.get(key) ?? new Set()).add(resource))
    }
  return numbers.map((own) => {
    if (own.some((number) => overfull.has(criterionOf(number)))) return undefined
    const found = new Set<Resource>()
    for (const number of own)
      for (const resource of byValue.get(number.value.toLowerCase()) ?? [])
        if (stored(resource).some((each) => isSameIdentifier(number, each))) found.add(resource)
    return found.size > limit ? undefined : [...found]
  })
}

/** Whether searches can find the number. A longer number matches no resource, even if a search finds the resource by another number. */
const isSearchable = ({ system = '', value }: PartyIdentifier): boolean => system.length + value.length < MAX_SEARCHABLE_CHARACTERS - 2

/** `overfull`: criteria that match more resources than the limit. */
type FoundNumbers = { readonly resources: readonly Resource[]; readonly overfull: ReadonlySet<string> }

async function findAny(data: MemberData, { type, parameter, limit }: Lookup, criteria: readonly string[]): Promise<FoundNumbers> {
  const found = new Map<string, Resource>()
  const overfull = new Set<string>()
  const search = async (some: readonly string[]): Promise<void> => {
    const { resources, more } = await findCurrent(data, type, [[parameter, some.join(',')]], Math.max(limit, EXPECTED * some.length))
    if (!more) for (const resource of resources) found.set(resource.id!, resource)
    else if (some.length === 1) overfull.add(some[0]!)
    else {
      const half = Math.ceil(some.length / 2)
      await search(some.slice(0, half))
      await search(some.slice(half))
    }
  }
  for (let first = 0; first < criteria.length; first += NUMBERS) await search(criteria.slice(first, first + NUMBERS))
  return { resources: [...found.values()], overfull }
}

const criterionOf = ({ system, value }: PartyIdentifier): string =>
  system === undefined ? escapeValue(value) : `${escapeValue(system)}|${escapeValue(value)}`
