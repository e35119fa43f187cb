/** Guessing is slow: after some wrong attempts the next one has to wait, longer each time. */
import type { KeptGrant } from '../../ports/rows/grants.ts'
import type { AuthPorts } from '../endpoint.ts'
import { OAuthError } from '../oauth-error.ts'
import { fingerprintOf } from '../random-secret.ts'

/**
 * Whose attempts they are. `name`: an address, an account. `spare`: counts instead where this one has to wait, for who guessed nothing himself and
 * meets others' guesses.
 */
export type Guesser = { readonly of: 'client' | 'account' | 'place' | 'spare' | 'address'; readonly name: string; readonly spare?: Guesser }

/** Milliseconds. */
const SECOND = 1_000
const MINUTE = 60 * SECOND

/** `free`: wrong attempts that cost nothing. Milliseconds: one is forgotten each `leak`, and `longest` is the longest wait. */
type Rule = { readonly free: number; readonly leak: number; readonly longest: number }

/** Behind one address may be a hospital, whose people mistype all day. */
const RULES: Readonly<Record<Guesser['of'], Rule>> = {
  client: { free: 10, leak: MINUTE, longest: 15 * MINUTE },
  account: { free: 5, leak: 15 * MINUTE, longest: 15 * MINUTE },
  // An account as one address tries it.
  place: { free: 5, leak: 15 * MINUTE, longest: 15 * MINUTE },
  // An account as all addresses do that are no worse than that, however many somebody has.
  spare: { free: 20, leak: 15 * MINUTE, longest: 15 * MINUTE },
  address: { free: 50, leak: 10 * SECOND, longest: 30 * SECOND },
}
/** Milliseconds by which clocks of servers differ. What is later than that was written before a clock was set back. */
const SLACK = MINUTE
/** Of racing attempts as many find their turn; the others are too many. */
const TURNS = 8

/** Milliseconds since 1970: `at` there were so many failures; before `until` there is no attempt. */
type Kept = { readonly failures: number; readonly at: number; readonly until: number }
type Ports = Pick<AuthPorts, 'grants' | 'clock'>

/**
 * What `attempt` gives; it failed where that is undefined. OAuthError 429, before it is made, where one of the guessers has to wait. It counts
 * before it is made, so that many at once are not more than one after the other.
 */
export async function delayed<T>(
  ports: Ports,
  guessers: readonly Guesser[],
  attempt: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const counted = await countEach(ports, guessers)
  let result: T | undefined
  try {
    result = await attempt()
  } catch (error) {
    // Nobody guessed wrong where a machine failed.
    for (const guesser of counted) await giveBack(ports, guesser, 'this one')
    throw error
  }
  if (result !== undefined) for (const guesser of counted) await giveBack(ports, guesser)
  return result
}

/** Those that were counted, some in the place of others. OAuthError 429 where one has to wait: nothing was tried then, at no place. */
async function countEach(ports: Ports, guessers: readonly Guesser[]): Promise<readonly Guesser[]> {
  const counted: Guesser[] = []
  try {
    // guard: failed-attempts-are-counted
    for (const guesser of guessers) counted.push(await countOne(ports, guesser))
  } catch (error) {
    for (const guesser of counted) if (guesser.of === 'place') await giveBack(ports, guesser, 'this one')
    throw error
  }
  return counted
}

async function countOne(ports: Ports, guesser: Guesser): Promise<Guesser> {
  try {
    await count(ports, guesser)
    return guesser
  } catch (error) {
    if (guesser.spare === undefined || !(error instanceof OAuthError)) throw error
    await count(ports, guesser.spare)
    return guesser.spare
  }
}

/**
 * As that, where one who knows the secret comes often and at once, and nobody can guess it, however often: only failures are written down and
 * wait. Who knows it never waits for others, who may seem to come from the same address.
 */
export async function countingFailures<T>(ports: Ports, guesser: Guesser, attempt: () => Promise<T>): Promise<T> {
  let result: T
  try {
    result = await attempt()
  } catch (error) {
    // guard: wrong-client-secret-is-counted
    if (error instanceof OAuthError && error.status === 401) await count(ports, guesser)
    throw error
  }
  if ((await ports.grants.get('attempts', keyOf(guesser))) !== undefined) await giveBack(ports, guesser)
  return result
}

const stateOf = (known: KeptGrant | undefined): Kept => (known?.value as Kept | undefined) ?? { failures: 0, at: 0, until: 0 }

const keyOf = ({ of, name }: Guesser): string => fingerprintOf(`${of} ${name}`)

async function count({ grants, clock }: Ports, guesser: Guesser): Promise<void> {
  const key = keyOf(guesser)
  for (let turn = 0; turn < TURNS; turn++) {
    const now = clock.now()
    const known = await grants.get('attempts', key)
    const { until, ...before } = stateOf(known)
    if (now < until && before.at <= now + SLACK) throw tooMany(until - now)
    const failures = remaining(before, guesser, now) + 1
    const next: Kept = { failures, at: now, until: now + waitAfter(failures, guesser) }
    const grant = { owner: guesser.of, value: next, expires: now + RULES[guesser.of].leak * Math.ceil(failures) + MINUTE }
    if (known === undefined ? await grants.add('attempts', key, grant) : await grants.replace('attempts', known, grant)) return
  }
  throw tooMany(SECOND)
}

/** An account or a client that proved itself begins anew; of an address, of what is spare, and where nothing was proved, only this attempt is forgiven. */
async function giveBack(
  { grants }: Ports,
  guesser: Guesser,
  what: 'this one' | 'all' = guesser.of === 'address' || guesser.of === 'spare' ? 'this one' : 'all',
): Promise<void> {
  const key = keyOf(guesser)
  if (what === 'all') return void (await grants.remove('attempts', key))
  for (let turn = 0; turn < TURNS; turn++) {
    const known = await grants.get('attempts', key)
    if (known === undefined) return
    const { failures, at } = known.value as Kept
    const { owner, expires } = known
    const value: Kept = { failures: Math.max(0, failures - 1), at, until: 0 }
    const grant = { owner, value, ...(expires === undefined ? {} : { expires }) }
    if (await grants.replace('attempts', known, grant)) return
  }
}

const remaining = ({ failures, at }: Omit<Kept, 'until'>, { of }: Guesser, now: number): number =>
  Math.max(0, failures - Math.max(0, now - at) / RULES[of].leak)

function waitAfter(failures: number, { of }: Guesser): number {
  const { free, longest } = RULES[of]
  return failures < free - 0.5 ? 0 : Math.min(SECOND * 2 ** Math.round(failures - free), longest)
}

const tooMany = (wait: number): OAuthError =>
  new OAuthError('temporarily_unavailable', 'Too many failed attempts: wait', 429, { 'retry-after': String(Math.ceil(wait / SECOND)) })
