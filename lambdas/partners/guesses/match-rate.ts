/** Share of the sent members of a client that were matched. A client that sends many strangers must wait. */
import { FhirError } from '../../fhir/outcome.ts'
import { changeGuessGrant, type GuessPorts } from './guess-rows.ts'

/** Number of members of a request. `job`: id of the match of many members, which counts once. */
export type MatchCount = { readonly members: number; readonly matched: number; readonly job?: string }

/** Number of members that a client may send in an hour, whatever their outcomes. */
export const FREE_MEMBERS = 1_000
/** Minimum share of matched members above FREE_MEMBERS. A client below it is answered 429 for an hour. */
const MIN_SHARE = 0.1

const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** Duration of an entry in milliseconds. Requests for one member within it share the entry. */
const SLICE = 5 * MINUTE
/**
 * Maximum difference between the clocks of servers, in milliseconds. Times further in the future are ignored, because a clock was set back.
 */
const SLACK = MINUTE
/** Maximum entries of a row, to limit its size. Beyond it the two oldest entries are merged, and lose their job ids. */
const ENTRIES = 200

type Entry = MatchCount & { readonly at: number }

/** `until`: end of the wait. Times are in milliseconds since 1970. */
type RateRow = { readonly entries: readonly Entry[]; readonly until?: number }

const keyOf = (client: string): string => `client ${client}`

/** Throws FhirError 429 while the client must wait. */
export async function checkMatchRate({ grants, now }: GuessPorts, client: string): Promise<void> {
  const { until } = currentRow((await grants.get('guesses', keyOf(client)))?.value as RateRow | undefined, now())
  // guard: many-strangers-are-throttled
  if (until !== undefined) throw tooManyStrangers(until - now())
}

/**
 * Counts members. Counting a job again has no effect. `beforeWait`: runs before a wait of the client is stored, so that a crash leaves no
 * wait without an alert.
 */
export async function countMembers(ports: GuessPorts, client: string, count: MatchCount, beforeWait: () => void): Promise<void> {
  await changeGuessGrant<RateRow>(ports, keyOf(client), (known) => {
    const now = ports.now()
    const { entries, until } = currentRow(known, now)
    // guard: job-counts-once
    if (count.job !== undefined && entries.some(({ job }) => job === count.job)) return known
    const all = limited(added(entries, { ...count, at: now }))
    const isNew = until === undefined && isTooLow(all)
    if (isNew) beforeWait()
    const end = isNew ? now + HOUR : until
    return { entries: all, ...(end === undefined ? {} : { until: end }), expires: (end ?? now) + HOUR }
  })
}

function currentRow(row: RateRow | undefined, now: number): RateRow {
  const { entries = [], until } = row ?? {}
  const live = entries.filter(({ at }) => now - HOUR < at && at <= now + SLACK)
  return { entries: live, ...(until !== undefined && now < until && until <= now + HOUR + SLACK ? { until } : {}) }
}

function added(entries: readonly Entry[], entry: Entry): readonly Entry[] {
  const last = entries.findLastIndex(({ job, at }) => job === undefined && Math.floor(at / SLICE) === Math.floor(entry.at / SLICE))
  return entry.job !== undefined || last === -1 ? [...entries, entry] : entries.with(last, merged(entries[last]!, entry))
}

const limited = (entries: readonly Entry[]): readonly Entry[] =>
  entries.length <= ENTRIES ? entries : [merged(entries[0]!, entries[1]!), ...entries.slice(2)]

const merged = (a: Entry, b: Entry): Entry => ({ at: b.at, members: a.members + b.members, matched: a.matched + b.matched })

function isTooLow(entries: readonly Entry[]): boolean {
  const members = entries.reduce((sum, entry) => sum + entry.members, 0)
  return members >= FREE_MEMBERS && entries.reduce((sum, entry) => sum + entry.matched, 0) < MIN_SHARE * members
}

const tooManyStrangers = (wait: number): FhirError =>
  new FhirError(
    429,
    [
      {
        severity: 'error',
        code: 'throttled',
        text: `Fewer than ${100 * MIN_SHARE} % of at least ${FREE_MEMBERS} members that this client sent within an hour were matched. Nothing was matched: try again later`,
      },
    ],
    { 'retry-after': String(Math.ceil(wait / 1_000)) },
  )
