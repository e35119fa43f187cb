/** Limits of guesses by a partner, on a clock that the test sets. */
import { describe, expect, it } from '@jest/globals'
import { openGrants } from '../../../lambdas/adapters/sqlite-grants/open-grants.ts'
import { FhirError } from '../../../lambdas/fhir/outcome.ts'
import { guessDigests } from '../../../lambdas/partners/guesses/guess.ts'
import { type MatchLimitPorts, type MatchLimits, matchLimits } from '../../../lambdas/partners/guesses/match-limits.ts'
import { findMember } from '../../../lambdas/partners/match/find-member.ts'
import { consentNotComplied, noMemberMatched, unmatchedReasonOf } from '../../../lambdas/partners/match/match-answer.ts'
import type { SentPerson } from '../../../lambdas/partners/match/match-rules.ts'
import { MachineFault } from '../../../lambdas/ports/faults.ts'
import type { Grant, Grants } from '../../../lambdas/ports/rows/grants.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { MemoryGrants } from '../../fixtures/memory/grants.ts'
import { patient, type Tree } from '../../fixtures/resources.ts'
import { DAY, MINUTE, SetClock } from '../../fixtures/set-clock.ts'
import { waitTurns } from '../../fixtures/turns.ts'
import { coverageOf, memberNumber, memberStoreOf } from '../member-store.ts'
import { named, sentPerson } from './sent-person.ts'

const HOUR = 60 * MINUTE

function openLimits(grants?: MatchLimitPorts['grants'], clock = new SetClock('2026-06-01T12:00:00Z')) {
  const alerts: string[] = []
  const rows = grants ?? new MemoryGrants(clock.wall)
  const options = {
    grants: rows,
    now: clock.wall,
    readKey: async () => Buffer.alloc(32, 1),
    alert: (line: string) => void alerts.push(line),
  }
  const limits = matchLimits({ ...options, pause: () => waitTurns(1) })
  return {
    clock,
    alerts,
    rows,
    limits,
    sent: (person: SentPerson, isRight = false, client = 'c') => outcomeOf(limits, person, isRight, client),
  }
}

/** Stores nothing: returns what was found. */
const asFound = async <Found>(found: Found): Promise<Found> => found

/** Returns the reason for no match, or `found`. `blocked`: the outcome of the lookup did not count. */
async function outcomeOf(limits: MatchLimits, person: SentPerson, isRight: boolean, client: string): Promise<string> {
  const find = async () => {
    if (!isRight) throw noMemberMatched('no match')
    return 'found'
  }
  try {
    return await limits.limit(client, person, find, asFound)
  } catch (error) {
    const reason = unmatchedReasonOf(error as FhirError)
    return reason === 'too many guesses' ? 'blocked' : (reason ?? 'fault')
  }
}

const cards = (count: number, from = 1): readonly string[] => Array.from({ length: count }, (_, i) => `W${from + i}`)

/** Sends a member once with each card, one after the other. */
async function sendAll(world: ReturnType<typeof openLimits>, persons: readonly SentPerson[]): Promise<readonly string[]> {
  const outcomes: string[] = []
  for (const person of persons) outcomes.push(await world.sent(person))
  return outcomes
}

const FIVE = cards(5).map((card) => sentPerson(card))
const NO_MATCHES = Array(5).fill('no match')

describe('a person', () => {
  it('is blocked for a day after five different cards without a match, even with the right card', async () => {
    const world = openLimits()
    expect(await sendAll(world, FIVE)).toEqual(NO_MATCHES)
    expect(await world.sent(sentPerson('right'), true)).toBe('blocked')
    world.clock.pass(DAY - 1)
    expect(await world.sent(sentPerson('right'), true)).toBe('blocked')
    world.clock.pass(1)
    expect(await world.sent(sentPerson('right'), true)).toBe('found')
  })

  it('is reported once to the operator, without the person and the cards', async () => {
    const world = openLimits()
    await sendAll(world, [...FIVE, ...cards(20, 6).map((card) => sentPerson(card))])
    expect(world.alerts).toEqual([
      'MemberGuessing: the partner c sent five different cards for one person without a match. It gets no match for such a person for 24 hours',
    ])
  })

  it.each<[what: string, person: (card: string) => SentPerson]>([
    ['another spelling of the name', (card) => sentPerson(card, named('ANN', 'Pérson'))],
    ['another second given name', (card) => sentPerson(card, named(`Ann ${card}`))],
    ['another gender', (card) => sentPerson(card, { gender: card === 'W1' ? 'male' : 'female' })],
    ['another name beside it', (card) => sentPerson(card, { name: [{ family: `X${card}`, given: ['Y'] }, ...named('Ann').name] })],
    ['a card with two numbers', (card) => sentPerson(card, {}, { identifier: [memberNumber(card)], subscriberId: `S${card}` })],
  ])('is the same with %s', async (_, person) => {
    const world = openLimits()
    expect(await sendAll(world, cards(5).map(person))).toEqual(NO_MATCHES)
    expect(await world.sent(sentPerson('right'), true)).toBe('blocked')
  })

  it('is blocked by one request with many numbers', async () => {
    const world = openLimits()
    await world.sent(sentPerson('', {}, { identifier: cards(5).map((card) => memberNumber(card)) }))
    expect(await world.sent(sentPerson('right'), true)).toBe('blocked')
  })

  it('is not found by one request with six numbers, alone or in a job', async () => {
    const numbers = (count: number) => sentPerson('', {}, { identifier: cards(count).map((card) => memberNumber(card)) })
    const world = openLimits()
    expect(await world.sent(numbers(5), true)).toBe('found')
    expect(await world.sent(numbers(6), true)).toBe('blocked')
    expect(await world.sent(sentPerson('right'), true)).toBe('blocked')
    expect(world.alerts).toHaveLength(1)
    expect(await openLimits().limits.blockedAmong('c', [{ person: numbers(5), isMatched: true }])).toEqual([])
    expect(await openLimits().limits.blockedAmong('c', [{ person: numbers(6), isMatched: true }])).toEqual([0])
  })

  it('is the same with a given name that is divided into other words', async () => {
    const world = openLimits()
    const given = ['Ann', 'A nn', 'An n', 'A n n', 'A-N-N']
    expect(await sendAll(world, given.map((each, i) => sentPerson(`W${i}`, named(each))))).toEqual(NO_MATCHES) // biome-ignore format: one line
    expect(await world.sent(sentPerson('right'), true)).toBe('blocked')
  })

  it.each<[what: string, person: SentPerson, client: string]>([
    ['another client', sentPerson('right'), 'another'],
    ['another birthDate', sentPerson('right', { birthDate: '1974-12-26' }), 'c'],
    ['another given name', sentPerson('right', named('Anna')), 'c'],
  ])('does not block %s', async (_, person, client) => {
    const world = openLimits()
    await sendAll(world, FIVE)
    expect(await world.sent(person, true, client)).toBe('found')
  })

  it('is not blocked by a card that is typed wrongly, however often it is sent, nor by the right one', async () => {
    const world = openLimits()
    const wrong = ['W1', 'W2'].map((card) => sentPerson(card, {}, { identifier: [memberNumber(card)], subscriberId: card.toLowerCase() }))
    for (let i = 0; i < 20; i++) expect(await sendAll(world, wrong)).toEqual(['no match', 'no match'])
    for (let i = 0; i < 20; i++) expect(await world.sent(sentPerson('right'), true)).toBe('found')
    expect(world.alerts).toEqual([])
  })

  it('is not blocked by cards of more than a day ago, nor by one that is found later', async () => {
    const world = openLimits()
    await sendAll(world, FIVE.slice(0, 2))
    world.clock.pass(DAY)
    await sendAll(world, FIVE.slice(1))
    expect(await world.sent(FIVE[4]!, true)).toBe('found')
    expect([await world.sent(sentPerson('W9')), await world.sent(sentPerson('right'), true)]).toEqual(['no match', 'found'])
    expect([await world.sent(sentPerson('W10')), await world.sent(sentPerson('right'), true)]).toEqual(['no match', 'blocked'])
  })

  it.each(['denied', 'several candidates', 'no identifier'] as const)('counts the outcome %s as that of a stranger', async (reason) => {
    const { limits, sent } = openLimits()
    for (const person of FIVE)
      await expect(limits.limit('c', person, () => Promise.reject(noMemberMatched(reason)), asFound)).rejects.toThrow('No member')
    expect(await sent(sentPerson('right'), true)).toBe('blocked')
  })

  it('counts a member with a reported denial', async () => {
    const { limits, sent } = openLimits()
    for (const person of FIVE)
      await expect(limits.limit('c', person, () => Promise.reject(consentNotComplied()), asFound)).rejects.toThrow('consent')
    expect(await sent(sentPerson('right'), true)).toBe('blocked')
  })

  it('is not blocked by faults, and a fault forgives no guess', async () => {
    const world = openLimits()
    const fail = (person: SentPerson) =>
      world.limits.limit('c', person, () => Promise.reject(new MachineFault('overloaded', 'busy')), asFound)
    for (const person of FIVE) await expect(fail(person)).rejects.toThrow('busy')
    expect(await world.sent(sentPerson('right'), true)).toBe('found')
    await sendAll(world, FIVE.slice(0, 4))
    for (const person of FIVE) await expect(fail(person)).rejects.toThrow('busy')
    expect([await world.sent(FIVE[4]!), await world.sent(sentPerson('right'), true)]).toEqual(['no match', 'blocked'])
  })

  it('is blocked after a clock is set back, for a day at most', async () => {
    const world = openLimits()
    await sendAll(world, FIVE)
    world.clock.set(-HOUR)
    expect(await world.sent(sentPerson('right'), true)).toBe('found')
  })
})

describe('a card', () => {
  it('is blocked for a day after five different persons without a match', async () => {
    const world = openLimits()
    expect(
      await sendAll(
        world,
        ['A', 'B', 'C', 'D', 'E'].map((given) => sentPerson('W1', named(given))),
      ),
    ).toEqual(NO_MATCHES)
    expect(await world.sent(sentPerson('W1'), true)).toBe('blocked')
    expect(await world.sent(sentPerson('w1', {}, { subscriberId: 'w1' }), true)).toBe('blocked')
    expect(await world.sent(sentPerson('W2'), true)).toBe('found')
    expect(world.alerts).toEqual([
      'MemberGuessing: the partner c sent five different persons for one card without a match. It gets no match for such a card for 24 hours',
    ])
  })

  it('is blocked by persons with one first word, and by one request with six names', async () => {
    const world = openLimits()
    const given = ['A nn', 'A lice', 'A bel', 'A da', 'A nja']
    expect(await sendAll(world, given.map((each) => sentPerson('W1', named(each))))).toEqual(NO_MATCHES) // biome-ignore format: one line
    expect(await world.sent(sentPerson('W1'), true)).toBe('blocked')
    const names = ['A', 'B', 'C', 'D', 'E', 'F'].flatMap((each) => named(each).name)
    expect(await world.sent(sentPerson('W2', { name: names.slice(1) }), true)).toBe('found')
    expect(await world.sent(sentPerson('W2', { name: names }), true)).toBe('blocked')
  })

  it('is not blocked by a large family, even if all are sent at once', async () => {
    const world = openLimits()
    const family = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H'].map((given) => sentPerson('W1', named(given)))
    expect(await Promise.all(family.map((person) => world.sent(person, true)))).toEqual(Array(8).fill('found'))
  })
})

describe('requests at once', () => {
  it('learn the outcome of five cards of a person, and never of a sixth', async () => {
    const world = openLimits()
    const send = (card: string, isRight: boolean) => {
      const find = async () => {
        await waitTurns(3)
        if (!isRight) throw noMemberMatched('no match')
        return 'found'
      }
      return world.limits.limit('c', sentPerson(card), find, asFound).catch((error) => unmatchedReasonOf(error))
    }
    const outcomes = await Promise.all([...cards(39).map((card) => send(card, false)), send('right', true)])
    expect(outcomes).toEqual([...NO_MATCHES, ...Array(35).fill('too many guesses')])
    expect(world.alerts).toHaveLength(1)
  })

  it('look up again after a wait, because the member may have denied meanwhile', async () => {
    const world = openLimits()
    const running = Promise.withResolvers<never>()
    const wrong = cards(5).map((card) => world.limits.limit('c', sentPerson(card), () => running.promise, asFound))
    await waitTurns(20)
    let hasDenied = false
    let lookups = 0
    const find = async () => {
      lookups++
      if (hasDenied) throw noMemberMatched('denied')
      return 'found'
    }
    const waiting = world.limits.limit('c', sentPerson('right'), find, asFound).catch(unmatchedReasonOf)
    await waitTurns(20)
    expect(lookups).toBe(1)
    hasDenied = true
    running.reject(new MachineFault('overloaded', 'busy'))
    for (const each of wrong) await expect(each).rejects.toThrow('busy')
    expect([await waiting, lookups]).toEqual(['denied', 2])
  })

  it('with the same right card are all answered', async () => {
    const world = openLimits()
    await sendAll(world, FIVE.slice(0, 4))
    const all = Array.from({ length: 20 }, () => world.sent(sentPerson('right'), true))
    expect(await Promise.all(all)).toEqual(Array(20).fill('found'))
  })
})

describe('a match', () => {
  /** Returns grants whose writes wait until they are released, and the number of waiting ones. */
  function heldGrants(clock: SetClock) {
    const grants = new MemoryGrants(clock.wall)
    let held: (() => void)[] = []
    const hold = () => new Promise<void>((resolve) => held.push(resolve))
    const rows: MatchLimitPorts['grants'] = {
      get: (...asked) => grants.get(...asked),
      add: (...added) => hold().then(() => grants.add(...added)),
      replace: (...replaced) => hold().then(() => grants.replace(...replaced)),
      remove: (...removed) => hold().then(() => grants.remove(...removed)),
    }
    return {
      rows,
      async release() {
        await waitTurns(5)
        const all = held
        held = []
        for (const each of all) each()
        await waitTurns(5)
        return all.length
      },
    }
  }

  it('is looked up while its try is stored, and stored while its try ends', async () => {
    const clock = new SetClock('2026-06-01T12:00:00Z')
    const { rows, release } = heldGrants(clock)
    const { limits } = openLimits(rows, clock)
    const events: string[] = []
    const work = (event: string) => async () => void events.push(event)
    const answered = limits.limit('c', sentPerson('W1'), work('find'), work('store')).then(work('answer'))
    await waitTurns(5)
    expect(events).toEqual(['find'])
    // The rows of the person and of the card.
    expect([await release(), events]).toEqual([2, ['find', 'store']])
    // These rows, and the count of the client.
    expect([await release(), events]).toEqual([3, ['find', 'store', 'answer']])
    await answered
  })

  it('is answered as a stranger only after its try is counted', async () => {
    const clock = new SetClock('2026-06-01T12:00:00Z')
    const { rows, release } = heldGrants(clock)
    const { limits } = openLimits(rows, clock)
    let answer: unknown
    const answered = limits
      .limit('c', sentPerson('W1'), () => Promise.reject(noMemberMatched('no match')), asFound)
      .catch((error) => {
        answer = unmatchedReasonOf(error)
      })
    expect([await release(), answer, await release(), answer]).toEqual([2, undefined, 3, 'no match'])
    await answered
  })
})

describe('the rows', () => {
  it('survive a restart', async () => {
    const file = `${newFolder()}/grants.db`
    const clock = new SetClock('2026-06-01T12:00:00Z')
    for (const [first, last] of [
      [0, 3],
      [3, 5],
    ] as const) {
      const opened = openGrants(file, clock.wall)
      expect(await sendAll(openLimits(opened.grants, clock), FIVE.slice(first, last))).toEqual(NO_MATCHES.slice(first, last))
      await opened.close()
    }
    const opened = openGrants(file, clock.wall)
    expect(await openLimits(opened.grants, clock).sent(sentPerson('right'), true)).toBe('blocked')
    await opened.close()
  })

  it('contain no person and no card, and differ with the key of the server', async () => {
    const digests = [1, 2].map((byte) => guessDigests(Buffer.alloc(32, byte)))
    const [own, others] = digests.map((each) => JSON.stringify(each('c', sentPerson('W1'))))
    const parts = (text: string | undefined): readonly string[] => text!.match(/[\w-]{22}/g) ?? []
    expect(parts(own)).toHaveLength(4)
    expect(parts(own).filter((digest) => parts(others).includes(digest))).toEqual([])
    const clock = new SetClock('2026-06-01T12:00:00Z')
    const grants = new MemoryGrants(clock.wall)
    const stored: string[] = []
    const add: Grants['add'] = (...added) => {
      stored.push(JSON.stringify(added))
      return grants.add(...added)
    }
    const watched: Pick<Grants, 'get' | 'replace' | 'remove'> = {
      get: (...asked) => grants.get(...asked),
      replace: (...replaced) => grants.replace(...replaced),
      remove: (...removed) => grants.remove(...removed),
    }
    const world = openLimits({ ...watched, add }, clock)
    await world.sent(sentPerson('W1'))
    expect(stored.length).toBe(3)
    expect([...stored, own].join()).not.toMatch(/ann|1974|W1"/i)
  })
})

describe('the alert', () => {
  /** Returns grants that fail once to store a block or a wait. */
  const failingOnce = (clock: SetClock): MatchLimitPorts['grants'] => {
    const grants = new MemoryGrants(clock.wall)
    let fails = true
    const failing = (grant: Grant): Grant => {
      if (!fails || !('until' in (grant.value as object))) return grant
      fails = false
      throw new MachineFault('overloaded', 'not stored')
    }
    return {
      get: (...asked) => grants.get(...asked),
      remove: (...removed) => grants.remove(...removed),
      add: async (kind, key, grant) => grants.add(kind, key, failing(grant)),
      replace: async (kind, row, grant) => grants.replace(kind, row, failing(grant)),
    }
  }
  const open = () => {
    const clock = new SetClock('2026-06-01T12:00:00Z')
    return openLimits(failingOnce(clock), clock)
  }

  it('precedes the block, so that it is not lost if the block cannot be stored', async () => {
    const world = open()
    expect(await sendAll(world, FIVE)).toEqual([...NO_MATCHES.slice(1), 'fault'])
    expect(world.alerts).toHaveLength(1)
    // The try is still running. It counts as failed after a minute.
    world.clock.pass(MINUTE)
    expect(await world.sent(FIVE[4]!)).toBe('no match')
    expect(world.alerts).toEqual(Array(2).fill(expect.stringContaining('cards for one person')))
    expect([await world.sent(sentPerson('right'), true), world.alerts.length]).toEqual(['blocked', 2])
  })

  it('precedes the blocks of a job, which a repeated step stores', async () => {
    const world = open()
    const members = ['Ann', 'Bob'].flatMap((given) =>
      cards(5).map((card) => ({ person: sentPerson(`${given}${card}`, named(given)), isMatched: false })),
    )
    await expect(world.limits.blockedAmong('c', members)).rejects.toThrow('not stored')
    expect(world.alerts).toHaveLength(1)
    expect(await world.limits.blockedAmong('c', members)).toHaveLength(10)
    // One line for all persons of an attempt.
    expect(world.alerts).toEqual(Array(2).fill(expect.stringContaining('cards for one person')))
  })

  it('precedes the wait of a client', async () => {
    const world = open()
    const count = () => world.limits.count('c', { members: 1_000, matched: 0, job: 'a' })
    await expect(count()).rejects.toThrow('not stored')
    expect(world.alerts).toHaveLength(1)
    await count()
    await count()
    expect(world.alerts).toEqual(Array(2).fill(expect.stringContaining('429 for an hour')))
  })
})

describe('a client', () => {
  const stranger = (i: number): SentPerson => sentPerson(`W${i}`, named(`G${i}`))

  it('waits for an hour after 1,000 members with fewer than a tenth of matches', async () => {
    const world = openLimits()
    for (let i = 0; i < 1_000; i++) {
      await world.limits.check('c')
      await world.sent(stranger(i), i < 99)
    }
    await expect(world.limits.check('c')).rejects.toMatchObject({ status: 429, headers: { 'retry-after': '3600' } })
    world.clock.pass(HOUR - 500)
    await expect(world.limits.check('c')).rejects.toMatchObject({ status: 429, headers: { 'retry-after': '1' } })
    await world.limits.check('another')
    world.clock.pass(500)
    await world.limits.check('c')
    await world.sent(stranger(0))
    await world.limits.check('c')
    expect(world.alerts).toEqual([
      'MemberGuessing: the partner c sent many members within an hour, and few of them were matched. Its matches are answered 429 for an hour',
    ])
  })

  it.each<[what: string, members: number, matched: number, pause: number, expected: boolean]>([
    ['999 strangers', 999, 0, 0, true],
    ['a tenth of matches', 1_000, 100, 0, true],
    ['1,000 strangers in two hours', 1_000, 0, HOUR, true],
    ['2,000 members with 5 % of matches', 2_000, 100, 0, false],
  ])('with %s waits only if too few are matched', async (_, members, matched, pause, expected) => {
    const { limits, clock } = openLimits()
    await limits.count('c', { members: members / 2, matched, job: 'a' })
    clock.pass(pause)
    await limits.count('c', { members: members / 2, matched: 0, job: 'b' })
    expect(await limits.check('c').then(Boolean.bind(undefined, true), () => false)).toBe(expected)
  })

  it('counts a job once', async () => {
    const { limits } = openLimits()
    for (let i = 0; i < 10; i++) await limits.count('c', { members: 500, matched: 0, job: 'a' })
    await limits.check('c')
    await limits.count('c', { members: 500, matched: 0, job: 'b' })
    await expect(limits.check('c')).rejects.toMatchObject({ status: 429 })
  })

  it('is counted whole if it starts many jobs', async () => {
    const { limits, clock } = openLimits()
    for (let i = 0; i < 999; i++) {
      clock.pass(1_000)
      await limits.count('c', { members: 1, matched: 0, job: `job${i}` })
    }
    await limits.check('c')
    await limits.count('c', { members: 1, matched: 0, job: 'last' })
    await expect(limits.check('c')).rejects.toMatchObject({ status: 429 })
  })
})

describe('the members of a job', () => {
  const member = (card: string, isMatched = false, fields: Tree = {}) => ({ person: sentPerson(card, fields), isMatched })

  it('are withheld if their person is guessed at in the same job, in any order', async () => {
    for (const position of [0, 3, 5]) {
      const members = cards(5).map((card) => member(card))
      const all = members.toSpliced(position, 0, member('right', true))
      const world = openLimits()
      expect(await world.limits.blockedAmong('c', all)).toEqual([0, 1, 2, 3, 4, 5])
      expect(world.alerts).toHaveLength(1)
    }
  })

  it('have the same outcomes, and count once, if a step is repeated', async () => {
    const world = openLimits()
    const members = [...cards(4).map((card) => member(card)), member('right', true)]
    for (let i = 0; i < 5; i++) expect(await world.limits.blockedAmong('c', members)).toEqual([])
    expect(await world.sent(sentPerson('W9'))).toBe('no match')
    expect(await world.limits.blockedAmong('c', members)).toEqual([0, 1, 2, 3, 4])
    expect(world.alerts).toHaveLength(1)
  })

  it('may be a large family, and one person with several right cards', async () => {
    const { limits } = openLimits()
    const family = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H'].map((given) => member('W1', true, named(given)))
    const several = cards(8, 10).map((card) => member(card, true))
    expect(await limits.blockedAmong('c', [...family, ...several])).toEqual([])
  })

  it('block their persons for single matches, and the reverse', async () => {
    const world = openLimits()
    expect(
      await world.limits.blockedAmong(
        'c',
        cards(5).map((card) => member(card)),
      ),
    ).toEqual([0, 1, 2, 3, 4])
    expect(await world.sent(sentPerson('right'), true)).toBe('blocked')
    expect(await world.limits.blockedAmong('c', [member('right', true), member('W20', true, named('Bob'))])).toEqual([0])
  })
})

describe('10,000 guesses', () => {
  const STORED = 25
  const BIRTH = '1980-01-01'
  const person = (i: number): Tree => ({ ...named(`Given${i}`, `Family${i}`), birthDate: BIRTH })
  const store = () =>
    memberStoreOf(
      Array.from({ length: STORED }, (_, i) => [
        patient(`p${i}`, { ...person(i), gender: 'female' }),
        coverageOf(`c${i}`, `p${i}`, { identifier: [memberNumber(`N${i}`)] }),
      ]).flat(),
    )

  /** Sends the guesses, and waits as `Retry-After` requires. Returns the found members. */
  async function guess(guessed: (round: number, i: number) => SentPerson, guesses = 10_000) {
    const data = await store()
    const world = openLimits()
    const found: string[] = []
    let throttled = 0
    for (let i = 0; i < guesses; i++) {
      const wait = await world.limits.check('c').then(
        () => 0,
        (error: FhirError) => 1_000 * Number(error.headers?.['retry-after']),
      )
      if (wait > 0) throttled++
      world.clock.pass(wait)
      const sent = guessed(Math.floor(i / STORED), i % STORED)
      const find = async (): Promise<string> => {
        const match = await findMember(data, sent)
        if (match.kind !== 'match') throw noMemberMatched('no match')
        return match.patient.id!
      }
      await world.limits.limit('c', sent, find, asFound).then(
        (id) => found.push(id),
        (error: unknown) => expect(error).toBeInstanceOf(FhirError),
      )
    }
    return { found, throttled, alerts: world.alerts }
  }

  it('find no member by cards of known persons, and alert the operator', async () => {
    // Each person's right card is its sixth guess.
    const { found, throttled, alerts } = await guess((round, i) => sentPerson(round === 5 ? `N${i}` : `X${round}-${i}`, person(i)))
    expect([found, throttled >= 9, alerts.filter((line) => /cards for one person/.test(line)).length >= STORED]).toEqual([[], true, true])
  })

  it('find no member by persons of known cards, and alert the operator', async () => {
    const { found, throttled, alerts } = await guess((round, i) =>
      sentPerson(`N${i}`, round === 5 ? person(i) : { ...person(i), ...named(`X${round}`, `Family${i}`) }),
    )
    expect([found, throttled >= 9, alerts.filter((line) => /persons for one card/.test(line)).length >= STORED]).toEqual([[], true, true])
  })

  it('find every member within the limits', async () => {
    const { found } = await guess((round, i) => sentPerson(round === 4 ? `N${i}` : `X${round}-${i}`, person(i)), 5 * STORED)
    expect(found).toHaveLength(STORED)
  })
})
