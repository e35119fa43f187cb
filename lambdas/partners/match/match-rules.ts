/**
 * Rules by which a member is found. The card names the candidates, and every rule of MATCH_RULES must hold for a candidate. Nothing is
 * scored: the same data always gives the same result.
 */
import type { Resource } from '../../fhir/resource.ts'
import { foldText } from '../../search/text-folding.ts'
import { BIRTH_SEX } from '../codes.ts'
import { identifierOf, itemsOf, type PartyIdentifier, textOf, textsOf } from '../elements.ts'

/**
 * Card that a partner sent. `identifiers`: those of the Coverage that have type MB or no type. `memberIdentifiers`: those of type MB with a
 * system, of the Coverage and of the Patient. `dependent`: number of the person on a subscriber's card.
 */
export type Card = {
  readonly identifiers: readonly PartyIdentifier[]
  readonly memberIdentifiers: readonly PartyIdentifier[]
  readonly subscriberId?: string
  readonly dependent?: string
}

/** Folded name: a family and its given names. */
export type FoldedName = { readonly family: string; readonly given: readonly FoldedGiven[] }

/** Folded given name. `first`: its first word, if it has several. */
export type FoldedGiven = { readonly whole: string; readonly first?: string }

/** Person that a partner sent. Only the first given name of each name is compared. */
export type SentPerson = {
  readonly names: readonly FoldedName[]
  /** Date with a day. */
  readonly birthDate: string
  readonly gender?: string
  readonly birthSex?: string
  readonly card: Card
}

/** Card by which a candidate was found. `dependent`: that of the stored Coverage. */
export type FoundCard = { readonly by: 'identifier' | 'subscriberId'; readonly dependent?: string }

/** Stored Patient that the card names. */
export type Candidate = { readonly patient: Resource; readonly cards: readonly FoundCard[] }

export type MatchRule = {
  readonly name: string
  readonly meaning: string
  readonly holds: (sent: SentPerson, candidate: Candidate) => boolean
}

export const MATCH_RULES: readonly MatchRule[] = [
  {
    name: 'birthDate',
    meaning: 'Both dates of birth are the same day.',
    holds: ({ birthDate }, { patient }) => patient.birthDate === birthDate,
  },
  {
    name: 'name',
    meaning:
      'One stored name, of any use, has the sent family and the first sent given name. Case, marks, blanks and punctuation do not count. ' +
      'A given name of several words also equals its first word.',
    holds: ({ names }, { patient }) => namesOf(patient).some((own) => names.some((sent) => isSameName(sent, own))),
  },
  {
    name: 'sex',
    meaning: 'The genders are equal if both are known. Otherwise the birth sexes are equal if both are known.',
    holds(sent, { patient }) {
      const gender = genderOf(patient)
      if (sent.gender !== undefined && gender !== undefined) return sent.gender === gender
      const birthSex = birthSexOf(patient)
      return sent.birthSex === undefined || birthSex === undefined || sent.birthSex === birthSex
    },
  },
  {
    name: 'dependent',
    meaning: "The dependent numbers are equal if both have one and only the subscriber's number was found.",
    holds: ({ card: { dependent } }, { cards }) =>
      cards.some(
        (card) => card.by === 'identifier' || dependent === undefined || card.dependent === undefined || dependent === card.dependent,
      ),
  },
]

export const isMember = (sent: SentPerson, candidate: Candidate): boolean => MATCH_RULES.every(({ holds }) => holds(sent, candidate))

/**
 * Returns how a stored Coverage has the card, or undefined if it does not. Searches ignore the case of identifiers, and so does this. Blanks,
 * dots and leading zeros count. An identifier that was sent without a system equals those of every system.
 */
export function cardOf(coverage: Resource, card: Card): FoundCard | undefined {
  if (coverage.status === 'entered-in-error') return undefined
  const dependent = textOf(coverage.dependent)
  const others = dependent === undefined ? {} : { dependent }
  if (hasIdentifier(coverage, card.identifiers)) return { by: 'identifier', ...others }
  const isSubscriber = card.subscriberId !== undefined && coverage.subscriberId === card.subscriberId
  return isSubscriber ? { by: 'subscriberId', ...others } : undefined
}

/** Returns how a stored Patient has the card. */
export const cardOfPatient = (patient: Resource, { memberIdentifiers }: Card): FoundCard | undefined =>
  hasIdentifier(patient, memberIdentifiers) ? { by: 'identifier' } : undefined

const hasIdentifier = (resource: Resource, sent: readonly PartyIdentifier[]): boolean =>
  identifiersOf(resource).some((own) => sent.some((each) => isSameIdentifier(each, own)))

/** Whether a sent identifier equals a stored identifier. */
export const isSameIdentifier = (sent: PartyIdentifier, own: PartyIdentifier): boolean =>
  sent.value.toLowerCase() === own.value.toLowerCase() && (sent.system === undefined || sent.system === own.system)

export const identifiersOf = ({ identifier }: Resource): readonly PartyIdentifier[] => itemsOf(identifier).flatMap(identifierOf)

const isSameName = (sent: FoldedName, own: FoldedName): boolean =>
  sent.family === own.family && own.given.some((each) => isSameGiven(sent.given[0]!, each))

/** Two names of several words are equal only as a whole: `Mary Ann` is not `Mary Beth`. */
const isSameGiven = (a: FoldedGiven, b: FoldedGiven): boolean => a.whole === b.whole || a.whole === b.first || a.first === b.whole

/** Returns the folded names of a Patient that have a family and a given name with letters or digits. */
export const namesOf = ({ name }: Resource): readonly FoldedName[] =>
  itemsOf(name).flatMap((each) => {
    const family = foldName(textOf(each.family) ?? '')
    const given = textsOf(each.given).flatMap((text) => foldGiven(text) ?? [])
    return family === '' || given.length === 0 ? [] : [{ family, given }]
  })

/** Folds a name as searches do: without case and marks. Then it keeps letters and digits only. */
export const foldName = (text: string): string => foldText(text).replace(/[^\p{L}\p{N}]/gu, '')

function foldGiven(text: string): FoldedGiven | undefined {
  const words = text
    .split(/[\s\p{Pd}]+/u)
    .map(foldName)
    .filter((word) => word !== '')
  if (words.length === 0) return undefined
  return { whole: words.join(''), ...(words.length === 1 ? {} : { first: words[0]! }) }
}

/** Returns the gender, or undefined if it is `unknown`. */
export const genderOf = ({ gender }: Resource): string | undefined => (gender === 'unknown' ? undefined : textOf(gender))

/** Returns the birth sex of US Core, or undefined if it is unknown. */
export function birthSexOf({ extension }: Resource): string | undefined {
  const found = itemsOf(extension).find(({ url }) => url === BIRTH_SEX)
  const code = textOf(found?.valueCode)
  return code === 'UNK' || code === 'ASKU' ? undefined : code
}
