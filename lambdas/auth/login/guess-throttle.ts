/** Throttles guessing: every failed attempt beyond the free ones lengthens the next wait. */
import { MachineFault } from '../../ports/faults.ts'
import type { AuthPorts } from '../endpoint.ts'
import { OAuthError } from '../oauth-error.ts'
import { fingerprintOf } from '../random-secret.ts'

/**
 * Subject under which failed attempts are counted. `name`: such as an address or an account. `spare`: used instead while this subject has
 * to wait. It lets a user log in while others guess at the account.
 */
export type Guesser = {
  readonly of: 'client' | 'account' | 'place' | 'spare' | 'address' | 'browser'
  readonly name: string
  readonly spare?: Guesser
}

/** Durations in milliseconds. */
const SECOND = 1_000
const MINUTE = 60 * SECOND

/**
 * Limits of one kind. `free`: failed attempts without a wait. `leak`: one failed attempt is forgotten in this time. `longest`: longest
 * wait. Both times are in milliseconds.
 */
type Rule = { readonly free: number; readonly leak: number; readonly longest: number }

/** Limits by kind. `address` allows many failures: a hospital with many users may share one address. */
const RULES: Readonly<Record<Guesser['of'], Rule>> = {
  client: { free: 10, leak: MINUTE, longest: 15 * MINUTE },
  account: { free: 5, leak: 15 * MINUTE, longest: 15 * MINUTE },
  // One account from one network.
  place: { free: 5, leak: 15 * MINUTE, longest: 15 * MINUTE },
  // One account in a browser in which its user logged in before. Attempts in other browsers do not count.
  browser: { free: 5, leak: 15 * MINUTE, longest: 15 * MINUTE },
  // One account from all networks that need not wait themselves. It limits attackers with many addresses.
  spare: { free: 20, leak: 15 * MINUTE, longest: 15 * MINUTE },
  address: { free: 50, leak: 10 * SECOND, longest: 30 * SECOND },
}
/** Maximum difference between the clocks of servers, in milliseconds. A later time was stored before a clock was set back. */
const SLACK = MINUTE
/** How long a running attempt counts if its outcome is never stored, in milliseconds. */
const LONGEST = MINUTE
/** Maximum attempts of one guesser that wait in this process for the outcome of others. Further attempts are answered 503. */
const MOST_WAITING = 60

/** Maximum turns that one attempt waits, about 22 seconds. The gateway ends a request after 29 seconds. */
const MOST_TURNS = 150

/**
 * Stored state of a guesser. `failures`: failed attempts not yet forgotten at `at`. `until`: end of the wait. `running`: starts of running
 * attempts. All times are in milliseconds since 1970.
 */
type Kept = { readonly failures: number; readonly at: number; readonly until: number; readonly running?: readonly number[] }
type Ports = Pick<AuthPorts, 'grants' | 'clock'>

/** `machine fault`: the attempt does not count. */
type Outcome = 'right' | 'wrong' | 'machine fault'
/** Turns that an attempt may still wait, for all its guessers together. */
type Turns = { left: number }
type Started = { readonly guesser: Guesser; readonly at: number }

/**
 * Returns the result of `attempt`, where undefined is a wrong guess. Throws OAuthError 429 without an attempt if one of the guessers has to
 * wait. Only wrong guesses count. Running attempts take the places of wrong guesses, so parallel guesses gain nothing over guesses in
 * sequence. An attempt without a place waits for the outcome of others. Throws the fault `overloaded` if too many wait, or if it waits too
 * long.
 */
export async function throttleAttempt<T>(
  ports: Ports,
  guessers: readonly Guesser[],
  attempt: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const started: Started[] = []
  const turns = { left: MOST_TURNS }
  let outcome: Outcome = 'machine fault'
  try {
    // guard: failed-attempts-are-counted
    for (const guesser of guessers) started.push(await startOne(ports, guesser, turns))
    const result = await attempt()
    outcome = result === undefined ? 'wrong' : 'right'
    return result
  } finally {
    for (const each of started) await end(ports, each, outcome)
  }
}

async function startOne(ports: Ports, guesser: Guesser, turns: Turns): Promise<Started> {
  try {
    return await start(ports, guesser, turns)
  } catch (error) {
    if (guesser.spare === undefined || !(error instanceof OAuthError)) throw error
    return start(ports, guesser.spare, turns)
  }
}

/**
 * Throttles failed attempts only. It is for secrets that cannot be guessed, and for clients that authenticate often and in parallel. Only
 * failures are stored and have to wait. A client with the right secret never waits for others that seem to share its address.
 */
export async function throttleFailedAttempts<T>(ports: Ports, guesser: Guesser, attempt: () => Promise<T>): Promise<T> {
  let result: T
  try {
    result = await attempt()
  } catch (error) {
    // guard: wrong-client-secret-is-counted
    if (error instanceof OAuthError && error.status === 401) await change(ports, guesser, failed)
    throw error
  }
  if ((await ports.grants.get('attempts', keyOf(guesser))) !== undefined) await ports.grants.remove('attempts', keyOf(guesser))
  return result
}

const keyOf = ({ of, name }: Guesser): string => fingerprintOf(`${of} ${name}`)

type Change = (before: Required<Kept>, guesser: Guesser, now: number) => Required<Kept> | undefined

/** Applies a change to the latest state, repeated until no concurrent change interferes. Returns false if the change returns undefined. */
async function change({ grants, clock }: Ports, guesser: Guesser, apply: Change): Promise<boolean> {
  const key = keyOf(guesser)
  for (;;) {
    const now = clock.now()
    const known = await grants.get('attempts', key)
    const state = { failures: 0, at: 0, until: 0, running: [], ...(known?.value as Kept | undefined) }
    const running = state.running.filter((at) => at <= now + SLACK && now < at + LONGEST)
    const next = apply({ ...state, running }, guesser, now)
    if (next === undefined) return false
    const { failures } = next
    if (failures === 0 && next.running.length === 0) {
      if (known === undefined || (await grants.remove('attempts', key, known.number))) return true
      continue
    }
    const expires = now + RULES[guesser.of].leak * Math.ceil(failures) + LONGEST
    const grant = { owner: guesser.of, value: next, expires }
    if (known === undefined ? await grants.add('attempts', key, grant) : await grants.replace('attempts', known, grant)) return true
  }
}

/** Waits for a place among the running attempts. Throws OAuthError 429 during a wait of the guesser, `overloaded` after too many turns. */
async function start(ports: Ports, guesser: Guesser, turns: Turns): Promise<Started> {
  for (let turn = 0; ; turn++) {
    let at = 0
    const place: Change = (before, _, now) => {
      at = now
      checkWait(before, now)
      const failures = remaining(before, guesser, now)
      const { running } = before
      if (running.length > 0 && waitAfter(failures + running.length, guesser) > 0) return undefined
      // The earlier wait has ended, or it was stored before the clock was set back.
      return { failures, at: now, until: 0, running: [...running, now] }
    }
    if (await change(ports, guesser, place)) return { guesser, at }
    if (turns.left-- <= 0) throw new MachineFault('overloaded', 'a login waits too long for others')
    await waitForOthers(keyOf(guesser), turn)
  }
}

const waiting = new Map<string, number>()

/** Pauses, longer with each turn up to 200 milliseconds. Throws the fault `overloaded` if too many attempts wait. */
async function waitForOthers(key: string, turn: number): Promise<void> {
  const others = waiting.get(key) ?? 0
  if (others >= MOST_WAITING) throw new MachineFault('overloaded', 'too many logins at once')
  waiting.set(key, others + 1)
  const pause = Math.min(20 * 2 ** turn, 200) * (0.5 + Math.random() / 2)
  await new Promise((resolve) => setTimeout(resolve, pause))
  const left = waiting.get(key)! - 1
  if (left === 0) waiting.delete(key)
  else waiting.set(key, left)
}

function end(ports: Ports, { guesser, at: started }: Started, outcome: Outcome): Promise<boolean> {
  // A right guess clears the failures of a client or an account. An address or `spare` may have failures of others.
  const forgives = outcome === 'right' && guesser.of !== 'address' && guesser.of !== 'spare'
  return change(ports, guesser, (before, _, now) => {
    const index = before.running.indexOf(started)
    const state = { ...before, running: before.running.filter((_, i) => i !== index) }
    if (forgives) return { ...state, failures: 0, until: 0 }
    return outcome === 'wrong' ? failure(state, guesser, now) : state
  })
}

const failed: Change = (before, guesser, now) => {
  checkWait(before, now)
  return failure(before, guesser, now)
}

function failure(before: Required<Kept>, guesser: Guesser, now: number): Required<Kept> {
  const failures = remaining(before, guesser, now) + 1
  return { ...before, failures, at: now, until: now + waitAfter(failures, guesser) }
}

function checkWait({ until, at }: Kept, now: number): void {
  if (now < until && at <= now + SLACK) throw tooMany(until - now)
}

const remaining = ({ failures, at }: Pick<Kept, 'failures' | 'at'>, { of }: Guesser, now: number): number =>
  Math.max(0, failures - Math.max(0, now - at) / RULES[of].leak)

function waitAfter(failures: number, { of }: Guesser): number {
  const { free, longest } = RULES[of]
  return failures < free - 0.5 ? 0 : Math.min(SECOND * 2 ** Math.round(failures - free), longest)
}

const tooMany = (wait: number): OAuthError =>
  new OAuthError('temporarily_unavailable', 'Too many failed attempts: wait', 429, { 'retry-after': String(Math.ceil(wait / SECOND)) })
