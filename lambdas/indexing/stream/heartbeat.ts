/**
 * Sends and follows heartbeats (ports/search/heartbeat.ts), and records them in a state that all processes share. The change stream has
 * several partitions, and each is ordered by itself. A heartbeat consists of many beats, so that very probably at least one passes through
 * each partition. A heartbeat has arrived when all its beats have. Every version acknowledged before it was sent is then indexed, so it may
 * be written to the indices. If a beat never arrives, versions sent about the same time may be missing too. Changes of the state are pure
 * functions.
 *
 * Hundreds of partitions deliver beats in the same second. They cannot all change the state, nor read all arrivals. So a process stores the
 * beats of its batch in a row of its own. It collects the rows into the state only if a heartbeat may now be complete. The sweep also
 * collects them every minute.
 */
import { forEachInParallel } from '../../ports/execution/parallel.ts'
import type { Rows } from '../../ports/rows/rows.ts'
import type { SharedState } from '../../ports/rows/shared-state.ts'
import {
  BEATS_PER_PARTITION,
  type IndexHeartbeats,
  MAX_BEATS,
  MAX_HEARTBEAT_AGE_MS,
  MIN_BEATS,
  type ShardHeartbeat,
} from '../../ports/search/heartbeat.ts'
import type { IndexHealth } from '../../ports/search/index-status.ts'
import { isServing, type ServingIndices } from '../../ports/search/serving-indices.ts'
import { type Arrival, type ArrivedBeats, arrivalsOf, mayComplete, withArrivals } from './beat-arrivals.ts'

export type HeartbeatState = ArrivedBeats & {
  /** When the first heartbeat was sent, in ms since 1970. Absent before that. */
  readonly since?: number
  /** Number of beats of the latest heartbeat. Greater than MAX_BEATS if the stream has too many partitions for a complete one. */
  readonly beats?: number
  /** When the partitions of the stream could not be counted for the first time since the last count, in ms since 1970. Absent after a count. */
  readonly uncounted?: number
  /**
   * Number of owners of rows with arrived beats. Absent: one. It is stored before the beats are sent, and never shrinks. So a process that
   * reads the state after it knows of a row also finds the row's owner.
   */
  readonly rowOwners?: number
  readonly held: IndexHeartbeats
  /** Earliest stamp of versions that may never have arrived, in ms since 1970. Absent if all such versions have been reported. */
  readonly lost?: number
  /** When missing versions were last reported, in ms since 1970. */
  readonly toldAt?: number
}

export const NO_HEARTBEAT: HeartbeatState = { arrived: {}, held: {} }

export type HeartbeatParts = {
  readonly state: SharedState<HeartbeatState>
  readonly rows: Rows
  readonly newId: () => string
  /** Returns the number of open partitions of the change stream. Above MAX_STREAM_PARTITIONS it may be too small. */
  readonly partitions: () => Promise<number>
  /** Writes the beats to the store. */
  readonly send: (beats: readonly ShardHeartbeat[]) => Promise<void>
  /**
   * Writes the heartbeat to all indices, except those that were restored to an earlier state since they got a heartbeat. Returns the
   * serving indices that hold it.
   */
  readonly tell: (sent: number, held: IndexHeartbeats) => Promise<IndexHeartbeats>
  /** Reports that some versions stamped at `since` or later may never have arrived. `since`: ms since 1970. */
  readonly missed: (since: number) => Promise<void>
  readonly report: (error: unknown, of: string) => void
}

/**
 * Beats of a heartbeat for each owner of rows with arrived beats. The rows of an owner are in one partition of the state table, whose load is
 * limited.
 */
const BEATS_PER_ROW_OWNER = 768
/** Parallel calls that remove rows. */
const REMOVERS = 8

/** Returns the owners of the rows with beats that arrived and are not yet in the state. */
const rowOwnersOf = ({ rowOwners = 1 }: HeartbeatState): readonly string[] =>
  Array.from({ length: rowOwners }, (_, owner) => (owner === 0 ? 'PULSE_BEATS' : `PULSE_BEATS_${owner}`))

/**
 * Maximum time from the stamp of a version to its arrival in the stream, in milliseconds. Versions that are missing after a beat may have
 * been stamped this long before it.
 */
const STAMPED = 60 * 60_000

/**
 * Time in milliseconds until all functions know of a new rebuild and write to its index. For this time after a report of missing versions,
 * no heartbeat is written.
 */
const KNOWN = 60_000

/** Returns when the latest heartbeat of which all beats have arrived was sent. Returns undefined if there is none. */
export function latestHeartbeatOf({ latest, arrived }: HeartbeatState): number | undefined {
  // Until the first beat of this release arrives, the state is that of an earlier one.
  const all = Object.values(arrived)
  return all.length < MIN_BEATS ? latest : Math.max(latest ?? 0, Math.min(...all))
}

/**
 * Returns until when all acknowledged versions have been followed or reported as missing, in ms since 1970. Returns undefined if that is
 * unknown.
 */
export const followedUntil = (state: HeartbeatState): number | undefined =>
  state.lost === undefined ? latestHeartbeatOf(state) : undefined

export function withIndexHeartbeats(state: HeartbeatState, held: IndexHeartbeats): HeartbeatState {
  const newer = Object.entries(held).filter(([type, { identity, sent }]) => {
    const before = state.held[type]
    return before?.identity !== identity || before.sent < sent
  })
  return newer.length === 0 ? state : { ...state, held: { ...state.held, ...Object.fromEntries(newer) } }
}

/** Number of beats of a heartbeat that never becomes complete. */
const INCOMPLETE = MAX_BEATS + 1

/** Creates the beats of a heartbeat. `of`: their number. If it is greater than MAX_BEATS, the last ones are missing. */
export const beatsOf = (sent: number, of: number): readonly ShardHeartbeat[] =>
  Array.from({ length: Math.min(of, MAX_BEATS) }, (_, place) => ({ place, of, sent }))

/** Returns the number of beats of a heartbeat through this many partitions. */
export const beatCountOf = (partitions: number): number => Math.min(Math.max(MIN_BEATS, BEATS_PER_PARTITION * partitions), INCOMPLETE)

/**
 * Maximum time in milliseconds for which the last count of partitions is valid. After that, a heartbeat may miss partitions that were
 * opened since.
 */
const COUNT_VALID_FOR = 60 * 60_000

/**
 * Whether a heartbeat sent at `now` cannot become complete, because the stream has too many partitions, or because they could not be counted
 * for an hour.
 */
export const isIncomplete = ({ beats = 0, uncounted }: HeartbeatState, now: number): boolean =>
  beats > MAX_BEATS || (uncounted !== undefined && now - uncounted >= COUNT_VALID_FOR)

/**
 * Sends a heartbeat. If the partitions of the stream cannot be counted, reports the error and sends as many beats as the last time. If
 * the heartbeat cannot become complete, the beats still reveal missing versions and the lag of the table's index.
 */
export async function sendHeartbeat(
  { state, partitions, send, report }: Pick<HeartbeatParts, 'state' | 'partitions' | 'send' | 'report'>,
  now: number,
): Promise<HeartbeatState> {
  const counted = await partitions().then(beatCountOf, (error: unknown) => report(error, 'stream partitions'))
  const { value } = await state.change((each) => {
    const { since = now, beats = MIN_BEATS } = each
    const after = counted ?? beats
    const rowOwners = Math.max(each.rowOwners ?? 1, Math.ceil(after / BEATS_PER_ROW_OWNER))
    const { uncounted: first = now, ...rest } = each
    const uncounted = counted === undefined ? first : undefined
    const isSame = each.since === since && each.beats === after && rowOwners === (each.rowOwners ?? 1) && each.uncounted === uncounted
    return isSame ? each : { ...rest, since, beats: after, rowOwners, ...(uncounted === undefined ? {} : { uncounted }) }
  })
  const beats = beatsOf(now, value.beats ?? MIN_BEATS)
  await send(isIncomplete(value, now) ? beats.map((beat) => ({ ...beat, of: INCOMPLETE })) : beats)
  return value
}

type FollowParts = Pick<HeartbeatParts, 'state' | 'rows' | 'newId' | 'tell' | 'missed'>

/**
 * Records beats that arrived, and writes the heartbeat to the indices once all its beats have. The caller must have indexed all versions
 * before these beats. If versions are missing, reports them and writes no heartbeat. So when an index holds a heartbeat, all versions
 * missing before it have been reported.
 */
export async function followHeartbeat(parts: FollowParts, beats: readonly ShardHeartbeat[], now: number): Promise<void> {
  if (await storeBeats(parts, beats)) await collectBeats(parts, now)
}

/**
 * Stores the beats of a batch as one row. Returns whether a heartbeat may now be complete. If it throws, the beats must be delivered again:
 * otherwise the next beats of their places would report missing versions.
 */
export async function storeBeats(
  { state, rows, newId }: Pick<FollowParts, 'state' | 'rows' | 'newId'>,
  beats: readonly ShardHeartbeat[],
): Promise<boolean> {
  const arrivals = arrivalsOf(beats)
  const rowOwners = rowOwnersOf((await state.read()).value)
  const sum = beats.reduce((total, { place }) => total + place, 0)
  await rows.change(rowOwners[sum % rowOwners.length]!, newId(), () => arrivals)
  // Read the state again: another process may have made one of these places the awaited one without having seen the row.
  return mayComplete((await state.read()).value, arrivals)
}

/** Moves all stored beats to the state. Then writes the latest heartbeat to the indices, as followHeartbeat does. */
export async function collectBeats({ state, rows, tell, missed }: Omit<FollowParts, 'newId'>, now: number): Promise<void> {
  const value = await collect(state, rows)
  if (value.lost !== undefined) {
    // guard: missed-records-are-reported
    await missed(value.lost)
    await state.change((each) => (each.lost === value.lost ? { ...withoutLost(each), toldAt: now } : each))
    return
  }
  const latest = latestHeartbeatOf(value)
  const told = Math.max(0, ...Object.values(value.held).map(({ sent }) => sent))
  if (latest === undefined || latest <= told || isRecent(value, now)) return
  const held = await tell(latest, value.held)
  await state.change((each) => withIndexHeartbeats(each, held))
}

/**
 * Moves arrivals to the state until no other row may complete a heartbeat, and returns the state. Sets `lost` if a beat never arrived. A list
 * may contain a row but not an earlier one that was added during the call. So a missing beat counts only if it is also missing in the next
 * list.
 */
async function collect(state: SharedState<HeartbeatState>, rows: Rows): Promise<HeartbeatState> {
  let { value } = await state.read()
  let isCollected = false
  for (let missing = ''; ; ) {
    const listed: (readonly [owner: string, name: string])[] = []
    const arrivals: Arrival[] = []
    for (const owner of rowOwnersOf(value))
      for await (const row of rows.list<readonly Arrival[]>(owner)) {
        listed.push([owner, row.name])
        arrivals.push(...row.value)
      }
    if (isCollected && (listed.length === 0 || !mayComplete(value, arrivals))) return value
    let found = ''
    let isConfirmed = true
    const changed = await state.change((each) => {
      const { state: after, gaps } = withArrivals(each, arrivals)
      found = JSON.stringify(gaps)
      isConfirmed = gaps.length === 0 || found === missing
      // guard: missing-beats-are-looked-for-twice
      if (!isConfirmed) return each
      const lost = gaps.map(({ known }) => known - STAMPED)
      return lost.length === 0 ? after : { ...after, lost: Math.min(...lost, each.lost ?? Number.POSITIVE_INFINITY) }
    })
    value = changed.value
    missing = found
    if (!isConfirmed) continue
    isCollected = true
    await forEachInParallel(listed, REMOVERS, ([owner, name]) => rows.remove(owner, name))
  }
}

const isRecent = ({ toldAt }: HeartbeatState, now: number): boolean => toldAt !== undefined && now < toldAt + KNOWN

const withoutLost = ({ lost: _, ...state }: HeartbeatState): HeartbeatState => state

/**
 * Returns the age, in milliseconds, of the oldest of these heartbeats: the latest that arrived, and the latest that each serving index
 * holds. Ignores indices that hold none. Until one has arrived, the first one sent counts. Returns 0 before that.
 */
export function heartbeatAgeOf(state: HeartbeatState, types: ServingIndices['types'], now: number): number {
  const told = Object.entries(state.held).flatMap(([type, { identity, sent }]) =>
    isServing(types[type]) && types[type]!.identity === identity ? [sent] : [],
  )
  return now - Math.min(now, latestHeartbeatOf(state) ?? state.since ?? now, ...told)
}

/**
 * Returns the health of the index: it works if a heartbeat has arrived, none is too old, and no type has a lost or unreconciled index. Its lag
 * is the age of the heartbeat. Without writes a heartbeat is sent every third minute, so the lag of an idle index rises to three minutes.
 */
export function indexHealthOf(state: HeartbeatState, types: ServingIndices['types'], now: number): IndexHealth {
  const age = heartbeatAgeOf(state, types, now)
  const isEverySearched = Object.values(types).every(({ lost, unreconciled }) => !lost && !unreconciled)
  return {
    isWorking: latestHeartbeatOf(state) !== undefined && age <= MAX_HEARTBEAT_AGE_MS && isEverySearched,
    lag: Math.ceil(age / 1_000),
  }
}
