/** Rows that count guesses. MAX_TRIES different tries without a match block a person or a card for a client. */
import { changeValue } from '../../ports/rows/change.ts'
import type { GrantRow, Grants } from '../../ports/rows/grants.ts'
import type { Guess } from './guess.ts'

export type GuessPorts = {
  readonly grants: Pick<Grants, 'get' | 'add' | 'replace' | 'remove'>
  /** Returns milliseconds since 1970. */
  readonly now: () => number
  /** Waits for other requests that change the same row. `attempt`: number of earlier waits. */
  readonly pause: (attempt: number) => Promise<void>
}

/** Number of different tries without a match that blocks a person or a card. */
export const MAX_TRIES = 5

const MINUTE = 60_000
/** How long a try counts, and how long a block lasts, in milliseconds. */
const PERIOD = 24 * 60 * MINUTE
/**
 * Maximum difference between the clocks of servers, in milliseconds. Times further in the future are ignored, because a clock was set back.
 */
const SLACK = MINUTE
/** How long a try may run, in milliseconds. A try that runs longer counts as one without a match. */
const LONGEST = MINUTE

/** `at`: start of a running try, or time of the outcome. */
type Try = { readonly digest: string; readonly at: number; readonly isRunning?: true }

/** `until`: end of the block. Times are in milliseconds since 1970. */
type GuessRow = { readonly tries: readonly Try[]; readonly until?: number }

/** Begins a try. Returns `busy` if running tries may still block the person or the card: try again later. */
export async function beginTry(ports: GuessPorts, { key, tries }: Guess): Promise<'begun' | 'blocked' | 'busy'> {
  let state: 'begun' | 'blocked' | 'busy' = 'begun'
  await changeRow(ports, key, (row, now) => {
    const others = row.tries.filter(({ digest }) => !tries.includes(digest))
    state = 'begun'
    // guard: blocked-guess-finds-no-member
    if (row.until !== undefined || failedOf(others, now).length >= MAX_TRIES) state = 'blocked'
    else if (others.length >= MAX_TRIES) state = 'busy'
    if (state !== 'begun') return row
    const missing = tries.filter((digest) => row.tries.every((each) => each.digest !== digest))
    return { tries: [...row.tries, ...missing.map((digest) => ({ digest, at: now, isRunning: true as const }))] }
  })
  return state
}

/**
 * Ends a try that does not count. `right`: it found a member, so earlier counts of this try are removed. `not made`: the match failed or
 * was not begun.
 */
export async function endTry(ports: GuessPorts, { key, tries }: Guess, outcome: 'right' | 'not made'): Promise<void> {
  const isKept = ({ digest, isRunning }: Try): boolean => !tries.includes(digest) || (outcome === 'not made' && isRunning !== true)
  await changeRow(ports, key, (row) => (row.until === undefined ? { tries: row.tries.filter(isKept) } : row))
}

/**
 * Ends a try without a match, and counts it. Returns true if the person or the card is blocked. The same try counts once; counting it again
 * only prolongs its time. `beforeBlock`: runs before a block is stored, so that a crash leaves no block without an alert.
 */
export async function countTry(ports: GuessPorts, { key, tries }: Guess, beforeBlock: () => void): Promise<boolean> {
  let isBlocked = true
  await changeRow(ports, key, (row, now) => {
    isBlocked = row.until !== undefined
    if (isBlocked) return row
    const others = row.tries.filter(({ digest }) => !tries.includes(digest))
    const all: readonly Try[] = [...others, ...tries.slice(0, MAX_TRIES).map((digest) => ({ digest, at: now }))]
    if (failedOf(all, now).length < MAX_TRIES) return { tries: all }
    isBlocked = true
    beforeBlock()
    return { tries: [], until: now + PERIOD }
  })
  return isBlocked
}

/** Whether the person or the card is blocked. */
export async function isBlocked({ grants, now }: GuessPorts, key: string): Promise<boolean> {
  const known = await grants.get('guesses', key)
  return known !== undefined && currentRow(known.value as GuessRow, now()).until !== undefined
}

const failedOf = (tries: readonly Try[], now: number): readonly Try[] =>
  tries.filter(({ at, isRunning }) => isRunning !== true || at + LONGEST <= now)

/** Returns the row without expired tries and without an expired block. */
function currentRow({ tries, until }: GuessRow, now: number): GuessRow {
  if (until !== undefined && now < until && until <= now + PERIOD + SLACK) return { tries: [], until }
  return { tries: tries.filter(({ at }) => now - PERIOD < at && at <= now + SLACK) }
}

const EMPTY: GuessRow = { tries: [] }

/** Changes a row. Stores nothing if `next` returns its argument. Removes a row without tries and without a block. */
const changeRow = (ports: GuessPorts, key: string, next: (row: GuessRow, now: number) => GuessRow): Promise<unknown> =>
  changeGuessGrant<GuessRow>(ports, key, (known) => {
    const now = ports.now()
    const row = currentRow(known ?? EMPTY, now)
    const changed = next(row, now)
    if (changed === row) return known
    if (changed.until === undefined && changed.tries.length === 0) return undefined
    return { ...changed, expires: changed.until ?? now + PERIOD }
  })

/** Changes the value of a grant of the kind `guesses`. `expires`: end of its validity, in milliseconds since 1970. */
export const changeGuessGrant = <Value extends object>(
  { grants, pause }: GuessPorts,
  key: string,
  next: (value: Value | undefined) => (Value & { readonly expires?: number }) | undefined,
): Promise<unknown> =>
  changeValue<Value & { readonly expires?: number }, Known<Value>>(
    {
      async read() {
        const row = await grants.get('guesses', key)
        return { row, value: row?.value as Value | undefined }
      },
      async write(changed, { row }) {
        if (changed === undefined) return row === undefined || grants.remove('guesses', key, row.number)
        const { expires, ...value } = changed
        const grant = { owner: '', value, ...(expires === undefined ? {} : { expires }) }
        return row === undefined ? grants.add('guesses', key, grant) : grants.replace('guesses', row, grant)
      },
      pause,
    },
    next,
  )

type Known<Value> = { readonly row: GrantRow | undefined; readonly value: Value | undefined }
