/**
 * Guesses that a partner makes with one member: at cards of a person, and at persons of a card. They are keyed digests, so that no row
 * reveals a person or a card.
 */
import { createHmac, createSecretKey } from 'node:crypto'
import type { SentPerson } from '../match/match-rules.ts'

/** `key`: row of the person or the card. `tries`: cards that were sent with the person, or persons that were sent with the card. */
export type Guess = { readonly of: 'person' | 'card'; readonly key: string; readonly tries: readonly string[] }

/** Returns the guesses of a member. */
export type GuessDigests = (client: string, person: SentPerson) => readonly Guess[]

/** Characters of a digest. */
const DIGEST = 22

/**
 * Maximum numbers of a card that are one try. A card often has a member number and a number of the subscriber. Each number of a longer list
 * is a try of its own, so that one request cannot try many. The same applies to names.
 */
const TOGETHER = 4

/** `key`: secret key of the server. The digests have a key of their own, so that they reveal nothing about other uses of it. */
export function guessDigests(key: Uint8Array): GuessDigests {
  const own = createSecretKey(createHmac('sha256', key).update('guesses of members').digest())
  const digest = (...parts: readonly string[]): string =>
    createHmac('sha256', own).update(JSON.stringify(parts)).digest('base64url').slice(0, DIGEST)
  return (client, person) => {
    const triesOf = (texts: readonly string[]): readonly string[] =>
      texts.length > TOGETHER ? texts.map((text) => digest(text)) : [digest(...texts)]
    const [persons, numbers] = [personsOf(person), numbersOf(person)]
    return [
      ...persons.map((text): Guess => ({ of: 'person', key: digest('person', client, text), tries: triesOf(numbers) })),
      ...numbers.map((text): Guess => ({ of: 'card', key: digest('card', client, text), tries: triesOf(persons) })),
    ]
  }
}

/** Only the first word of a given name counts: a match may compare no more, so another second word is no other person. */
const personsOf = ({ names, birthDate }: SentPerson): readonly string[] =>
  distinct(names.map(({ family, given: [given] }) => JSON.stringify([family, given?.first ?? given?.whole, birthDate])))

/** Matches ignore the case of identifiers, and their systems are known. */
const numbersOf = ({ card: { identifiers, memberIdentifiers, subscriberId } }: SentPerson): readonly string[] =>
  distinct([
    ...[...identifiers, ...memberIdentifiers].map(({ value }) => value.toLowerCase()),
    ...(subscriberId === undefined ? [] : [subscriberId.toLowerCase()]),
  ])

const distinct = (texts: readonly string[]): readonly string[] => [...new Set(texts)].sort()
