/**
 * Guesses of a partner with one member: at the cards of a person, and at the persons of a card. They are keyed digests, so that rows reveal
 * no person and no card.
 */
import { createHmac, createSecretKey } from 'node:crypto'
import type { SentPerson } from '../match/match-rules.ts'

/**
 * `key`: key of the row of the person or the card. `tries`: digests of the cards sent with the person, or of the persons sent with the
 * card.
 */
export type Guess = { readonly of: 'person' | 'card'; readonly key: string; readonly tries: readonly string[] }

/** Returns the guesses of a member. */
export type GuessDigests = (client: string, person: SentPerson) => readonly Guess[]

/** Length of a digest in characters. */
const DIGEST = 22

/**
 * Maximum numbers of a card that count as one try. A card often has the number of the member and that of the subscriber. In a longer list
 * each number counts as a try, so that one request cannot try many. The same applies to names.
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
    const numbers = numbersOf(person)
    const [cards, persons] = [triesOf(numbers), triesOf(personsOf(person))]
    return [
      ...comparedNamesOf(person).map((text): Guess => ({ of: 'person', key: digest('person', client, text), tries: cards })),
      ...numbers.map((text): Guess => ({ of: 'card', key: digest('card', client, text), tries: persons })),
    ]
  }
}

/** Every text of a given name that a match compares has a row, so that another division into words reaches no other row. */
const comparedNamesOf = ({ names, birthDate }: SentPerson): readonly string[] =>
  distinct(
    names.flatMap(({ family, given: [given] }) =>
      [given?.whole, given?.first].filter((each) => each !== undefined).map((each) => JSON.stringify([family, each, birthDate])),
    ),
  )

const personsOf = ({ names, birthDate }: SentPerson): readonly string[] =>
  distinct(names.map(({ family, given: [given] }) => JSON.stringify([family, given?.whole, given?.first, birthDate])))

/** Ignores case, as matches do, and systems: one number with another system is the same guess. */
const numbersOf = ({ card: { identifiers, memberIdentifiers, subscriberId } }: SentPerson): readonly string[] =>
  distinct([
    ...[...identifiers, ...memberIdentifiers].map(({ value }) => value.toLowerCase()),
    ...(subscriberId === undefined ? [] : [subscriberId.toLowerCase()]),
  ])

const distinct = (texts: readonly string[]): readonly string[] => [...new Set(texts)].sort()
