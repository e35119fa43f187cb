/**
 * Limits of guesses by partners. A partner that knows a person could try card numbers until one matches, and the reverse. Every member that
 * was compared and not matched counts, whatever the reason, so that the limits reveal no reason either.
 */
import { FhirError } from '../../fhir/outcome.ts'
import { forEachInParallel } from '../../ports/execution/parallel.ts'
import { MachineFault } from '../../ports/faults.ts'
import { noMemberMatched, unmatchedReasonOf } from '../match/match-answer.ts'
import type { SentPerson } from '../match/match-rules.ts'
import { type Guess, type GuessDigests, guessDigests } from './guess.ts'
import { beginTry, countTry, endTry, type GuessPorts, isBlocked, MAX_TRIES } from './guess-rows.ts'
import { checkMatchRate, countMembers, type MatchCount } from './match-rate.ts'

/** Member of a match of many members that was compared with stored data. */
export type ComparedPerson = { readonly person: SentPerson; readonly isMatched: boolean }

/** `client`: client id of the partner. Callers do not use the limits for clients of this payer, which may read all members. */
export type MatchLimits = {
  /** Throws FhirError 429 while the client must wait, because too few of its members were matched. */
  readonly check: (client: string) => Promise<void>
  /**
   * Runs `find`, which throws an error if it finds no match, then `store`, and returns the result of `store`. Throws the error of no match, whatever
   * `find` finds, if the person or the card is blocked for the client. `find` may run for a blocked person, and twice, so it changes nothing. A
   * running call counts as failed until it ends, so parallel guesses gain nothing. Throws MachineFault if it waits too long for other calls.
   */
  readonly limit: <Found, Stored>(
    client: string,
    person: SentPerson,
    find: () => Promise<Found>,
    store: (found: Found) => Promise<Stored>,
  ) => Promise<Stored>
  /**
   * Counts the guesses of a job. Returns the positions of the members whose person or card is blocked. A repetition counts nothing twice.
   */
  readonly blockedAmong: (client: string, members: readonly ComparedPerson[]) => Promise<readonly number[]>
  /** Counts the members of a job for the share of matched members. A repetition has no further effect. */
  readonly count: (client: string, count: MatchCount) => Promise<void>
}

export type MatchLimitPorts = Pick<GuessPorts, 'grants' | 'now'> & {
  /** Returns the secret key of the server. */
  readonly readKey: () => Promise<Uint8Array>
  /**
   * Alerts the operator. Runs before a block or a wait is stored. If storing fails, its repetition alerts again. `line`: begins with
   * `MemberGuessing`, and names no person and no card.
   */
  readonly alert: (line: string) => void
  readonly pause?: GuessPorts['pause']
}

/** Maximum rows that are changed at the same time. */
const WIDTH = 50
/** Maximum pauses of one request, about 12 seconds in total. A request that must wait longer is answered 503. */
const MAX_PAUSES = 60
/** Waits longer with each attempt, at most 200 milliseconds. */
const PAUSE: GuessPorts['pause'] = (attempt) =>
  new Promise((resolve) => setTimeout(resolve, Math.min(10 * 2 ** attempt, 200) * (0.5 + Math.random() / 2)))

export function matchLimits({ readKey, alert, ...some }: MatchLimitPorts): MatchLimits {
  const ports: GuessPorts = { pause: PAUSE, ...some }
  let digests: Promise<GuessDigests> | undefined
  const guessesOf = async (client: string, person: SentPerson): Promise<readonly Guess[]> => {
    digests ??= readKey().then(guessDigests)
    digests.catch(() => {
      digests = undefined
    })
    return (await digests)(client, person)
  }
  /** Returns the alert function of one request or job. It alerts once about blocked persons, and once about blocked cards. */
  const alertOf = (client: string): ((of: Guess['of']) => void) => {
    const alerted = new Set<Guess['of']>()
    return (of) => {
      if (!alerted.has(of)) alert(blockedText(client, of))
      alerted.add(of)
    }
  }
  const count = (client: string, each: MatchCount): Promise<void> => countMembers(ports, client, each, () => alert(strangersText(client)))
  const countAll = async (client: string, guesses: readonly Guess[]): Promise<void> => {
    const alertOnce = alertOf(client)
    await Promise.all(guesses.map((guess) => countTry(ports, guess, () => alertOnce(guess.of))))
  }
  const refuse = async (client: string): Promise<never> => {
    await count(client, { members: 1, matched: 0 })
    throw noMemberMatched('too many guesses')
  }
  return {
    check: (client) => checkMatchRate(ports, client),
    count,
    async limit(client, person, find, store) {
      const guesses = await guessesOf(client, person)
      // guard: one-request-tries-few
      if (triesMany(guesses)) {
        await countAll(client, guesses)
        return refuse(client)
      }
      // The look-up runs while the tries are stored. Its outcome has no effect before.
      const looking = find()
      const [begun] = await Promise.allSettled([beginAll(ports, guesses), looking])
      if (begun.status === 'rejected') throw begun.reason
      if (begun.value === 'blocked') return refuse(client)
      const end = (outcome: 'right' | 'not made') => Promise.all(guesses.map((guess) => endTry(ports, guess, outcome)))
      let found: Awaited<typeof looking>
      try {
        // Look up again after a wait, because the member may have denied meanwhile.
        found = await (begun.value === 'begun' ? looking : find())
      } catch (error) {
        const isUnmatched = error instanceof FhirError && unmatchedReasonOf(error) !== undefined
        // guard: unmatched-member-is-counted
        await (isUnmatched ? Promise.all([countAll(client, guesses), count(client, { members: 1, matched: 0 })]) : end('not made'))
        throw error
      }
      // The match, the tries and the count are flushed at the same time.
      const stored = store(found)
      await forEachInParallel([stored, end('right'), count(client, { members: 1, matched: 1 })], 3, (each) => each)
      return stored
    },
    async blockedAmong(client, members) {
      const rows = new Map<string, JobRow>()
      for (const [position, { person, isMatched }] of members.entries()) {
        const guesses = await guessesOf(client, person)
        const isRight = isMatched && !triesMany(guesses)
        for (const { of, key, tries } of guesses) {
          const row = rows.get(key) ?? { of, key, wrong: new Set(), right: new Set(), positions: [] }
          rows.set(key, row)
          row.positions.push(position)
          for (const each of tries) row[isRight ? 'right' : 'wrong'].add(each)
        }
      }
      const alertOnce = alertOf(client)
      const positions = new Set<number>()
      await forEachInParallel([...rows.values()], WIDTH, async ({ of, key, wrong, right, positions: own }) => {
        const tries = [...wrong].filter((each) => !right.has(each))
        const isWithheld = tries.length === 0 ? await isBlocked(ports, key) : await countTry(ports, { of, key, tries }, () => alertOnce(of))
        if (isWithheld) for (const each of own) positions.add(each)
      })
      return [...positions].sort((a, b) => a - b)
    },
  }
}

/** Whether one member tries more cards or persons than a partner may. It would find whether one of them is right. */
const triesMany = (guesses: readonly Guess[]): boolean => guesses.some(({ tries }) => tries.length > MAX_TRIES)

/** Row of a person or a card in a job. `right`: tries that found a member, which is no guess. */
type JobRow = Pick<Guess, 'of' | 'key'> & {
  readonly wrong: Set<string>
  readonly right: Set<string>
  readonly positions: number[]
}

/**
 * Begins all tries, or returns `blocked` if a person or a card is blocked. Ends begun tries before each wait, so two requests never wait for
 * each other.
 */
async function beginAll(ports: GuessPorts, guesses: readonly Guess[]): Promise<'begun' | 'begun after a wait' | 'blocked'> {
  for (let attempt = 0; ; attempt++) {
    const states = await Promise.all(guesses.map((guess) => beginTry(ports, guess)))
    if (states.every((state) => state === 'begun')) return attempt === 0 ? 'begun' : 'begun after a wait'
    await Promise.all(guesses.map((guess, i) => (states[i] === 'begun' ? endTry(ports, guess, 'not made') : undefined)))
    if (states.includes('blocked')) return 'blocked'
    if (attempt >= MAX_PAUSES) throw new MachineFault('overloaded', 'a match waits too long for others')
    await ports.pause(attempt)
  }
}

const blockedText = (client: string, of: Guess['of']): string =>
  `MemberGuessing: the partner ${client} sent five different ${of === 'person' ? 'cards for one person' : 'persons for one card'} without a match. ` +
  `It gets no match for such a ${of} for 24 hours`

const strangersText = (client: string): string =>
  `MemberGuessing: the partner ${client} sent many members within an hour, and few of them were matched. Its matches are answered 429 for an hour`
