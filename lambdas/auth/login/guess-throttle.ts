/** Throttles guesses of passwords and client secrets. Beyond some free ones, each failed attempt doubles the next wait, up to a maximum. */
import { MachineFault } from '../../ports/faults.ts'
import type { AuthPorts } from '../endpoint.ts'
import { OAuthError } from '../oauth-error.ts'
import { fingerprintOf } from '../random-secret.ts'

/**
 * Subject whose failed attempts are counted together. `name`: for example an address or an account. `spare`: counted instead while this
 * subject has to wait, so that a user can log in while others guess at the account.
 */
export type Guesser = {
  readonly of: 'client' | 'account' | 'place' | 'spare' | 'address' | 'browser'
  readonly name: string
  readonly spare?: Guesser
}

/** One second in milliseconds. */
const SECOND = 1_000
/** One minute in milliseconds. */
const MINUTE = 60 * SECOND

/**
 * Limits of one kind of guesser. `free`: failed attempts before the first wait. `leak`: milliseconds after which one failed attempt is
 * forgotten. `longest`: maximum wait in milliseconds.
 */
type Rule = { readonly free: number; readonly leak: number; readonly longest: number }

/** Limits by kind. `address` allows many failures: a hospital with many users may share one address. */
const RULES: Readonly<Record<Guesser['of'], Rule>> = {
  client: { free: 10, leak: MINUTE, longest: 15 * MINUTE },
  account: { free: 5, leak: 15 * MINUTE, longest: 15 * MINUTE },
  // Attempts for one account from one network.
  place: { free: 5, leak: 15 * MINUTE, longest: 15 * MINUTE },
  // Attempts for one account in one browser in which its user logged in before. Attempts elsewhere do not count.
  browser: { free: 5, leak: 15 * MINUTE, longest: 15 * MINUTE },
  // Attempts for one account while `account` has to wait, from networks that have not to wait themselves. It limits attackers with many
  // addresses.
  spare: { free: 20, leak: 15 * MINUTE, longest: 15 * MINUTE },
  address: { free: 50, leak: 10 * SECOND, longest: 30 * SECOND },
}
/**
 * Maximum difference between the clocks of servers, in milliseconds. A stored time that is further in the future is ignored: a clock was
 * set back.
 */
const SLACK = MINUTE
/** How long an attempt counts as running if its outcome is never stored, in milliseconds. */
const LONGEST = MINUTE
/** Maximum attempts of one guesser that wait in this process until others end. Further attempts are answered 503. */
const MOST_WAITING = 60

/**
 * Maximum pauses of one attempt, about 22 seconds together; then it is answered 503. The gateway would end the request after 29 seconds.
 */
const MOST_TURNS = 150

/**
 * Stored state of a guesser. `failures`: failed attempts that were not forgotten at `at`. `until`: end of the wait. `running`: start of
 * each running attempt. All times are in milliseconds since 1970.
 */
type Kept = { readonly failures: number; readonly at: number; readonly until: number; readonly running?: readonly number[] }
type Ports = Pick<AuthPorts, 'grants' | 'clock'>

/** Result of an attempt. `machine fault`: the attempt does not count. */
type Outcome = 'right' | 'wrong' | 'machine fault'
/** Pauses that an attempt may still make, for all its guessers together. */
type Turns = { left: number }
type Started = { readonly guesser: Guesser; readonly at: number }

/**
 * Runs `attempt` and returns its result; undefined is a wrong guess. Only wrong guesses count. Throws OAuthError 429 without an attempt if
 * one of the guessers has to wait, and so has its `spare`.
 *
 * A running attempt counts as a wrong guess until it ends, so parallel guesses gain nothing. An attempt that would exceed the free ones in
 * this way pauses until others have ended. Throws the fault `overloaded` if too many attempts pause, or one pauses too long.
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
 * Runs `attempt` and throttles only failures, which are OAuthErrors 401. A failure during a wait is answered 429. A success is never
 * delayed, so a client with the right secret does not wait for others that seem to share its address. It is for random secrets, whose
 * guessing is hopeless, and for clients that authenticate often and in parallel.
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

/**
 * Applies a change to the stored state of a guesser, and again if a concurrent change interferes. Stores nothing and returns false if
 * `apply` returns undefined.
 */
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

/**
 * Registers a running attempt, and pauses while too many others run. Throws OAuthError 429 while the guesser has to wait, and the fault
 * `overloaded` after too many pauses.
 */
async function start(ports: Ports, guesser: Guesser, turns: Turns): Promise<Started> {
  for (let turn = 0; ; turn++) {
    let at = 0
    const place: Change = (before, _, now) => {
      at = now
      checkWait(before, now)
      const failures = remaining(before, guesser, now)
      const { running } = before
      if (running.length > 0 && waitAfter(failures + running.length, guesser) > 0) return undefined
      // Set `until` to 0: the earlier wait has ended, or was stored before the clock was set back.
      return { failures, at: now, until: 0, running: [...running, now] }
    }
    if (await change(ports, guesser, place)) return { guesser, at }
    if (turns.left-- <= 0) throw new MachineFault('overloaded', 'a login waits too long for others')
    await waitForOthers(keyOf(guesser), turn)
  }
}

const waiting = new Map<string, number>()

/** Pauses, longer with each turn, at most 200 milliseconds. Throws the fault `overloaded` if too many attempts of the guesser pause. */
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
  // A right guess clears the failures of an account, place or browser. Failures of an address or a `spare` may be those of other users.
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
