/**
 * Sends and follows heartbeats (ports/search/heartbeat.ts), and records them in a state that all processes share. The change stream has
 * several shards, and each is ordered by itself. A heartbeat consists of many beats, so that very probably at least one passes through each
 * shard. A heartbeat has arrived when all its beats have. Every version acknowledged before it was sent is then indexed, so it may be
 * written to the indices. If a beat never arrives, versions sent about the same time may be missing too. Changes of the state are pure
 * functions.
 */
import type { SharedState } from '../../ports/rows/shared-state.ts'
import { type IndexHeartbeats, MAX_HEARTBEAT_AGE_MS, type ShardHeartbeat } from '../../ports/search/heartbeat.ts'
import type { IndexHealth } from '../../ports/search/index-status.ts'
import { isServing, type ServingIndices } from '../../ports/search/serving-indices.ts'

/**
 * Number of beats of one heartbeat. With n equal shards, the probability that a shard gets no beat is at most n · (1 − 1/n)^64. That is 4
 * in 100 million for 4 shards, and 2 in 1,000 for 8.
 */
export const BEATS_PER_HEARTBEAT = 64

export type HeartbeatState = {
  /** When the first heartbeat was sent, in ms since 1970. Absent before that. */
  readonly since?: number
  /** When the latest arrived beat of each place was sent, in ms since 1970. Place: number of the beat in its heartbeat. */
  readonly arrived: Readonly<Record<string, number>>
  readonly held: IndexHeartbeats
  /** Earliest stamp of versions that may never have arrived, in ms since 1970. Absent if all such versions have been reported. */
  readonly lost?: number
  /** When missing versions were last reported, in ms since 1970. */
  readonly toldAt?: number
}

export const NO_HEARTBEAT: HeartbeatState = { arrived: {}, held: {} }

export type HeartbeatParts = {
  readonly state: SharedState<HeartbeatState>
  /** Writes the beats to the store. */
  readonly send: (beats: readonly ShardHeartbeat[]) => Promise<void>
  /**
   * Writes the heartbeat to all indices, except those that were restored to an earlier state since they got a heartbeat. Returns the
   * serving indices that hold it.
   */
  readonly tell: (sent: number, held: IndexHeartbeats) => Promise<IndexHeartbeats>
  /** Reports that some versions stamped at `since` or later may never have arrived. `since`: ms since 1970. */
  readonly missed: (since: number) => Promise<void>
}

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
export function latestHeartbeatOf({ arrived }: HeartbeatState): number | undefined {
  const all = Object.values(arrived)
  return all.length < BEATS_PER_HEARTBEAT ? undefined : Math.min(...all)
}

/**
 * Records beats that arrived. The latest beat of a place counts, so repeated and late beats change nothing. Sets `lost` if the beat before
 * one of these, of the same place, never arrived.
 */
export function withBeats(state: HeartbeatState, beats: readonly ShardHeartbeat[]): HeartbeatState {
  const arrived = { ...state.arrived }
  let { lost } = state
  let isNews = false
  for (const { place, sent, before = 0 } of beats) {
    const known = arrived[place]
    if (known !== undefined && sent <= known) continue
    if (known !== undefined && known < before) lost = Math.min(known - STAMPED, lost ?? known)
    arrived[place] = sent
    isNews = true
  }
  if (!isNews) return state
  return { ...state, arrived, ...(lost === undefined ? {} : { lost }) }
}

export function withIndexHeartbeats(state: HeartbeatState, held: IndexHeartbeats): HeartbeatState {
  const newer = Object.entries(held).filter(([type, { identity, sent }]) => {
    const before = state.held[type]
    return before?.identity !== identity || before.sent < sent
  })
  return newer.length === 0 ? state : { ...state, held: { ...state.held, ...Object.fromEntries(newer) } }
}

export const beatsOf = (sent: number): readonly ShardHeartbeat[] =>
  Array.from({ length: BEATS_PER_HEARTBEAT }, (_, place) => ({ place, sent }))

export async function sendHeartbeat({ state, send }: Pick<HeartbeatParts, 'state' | 'send'>, now: number): Promise<HeartbeatState> {
  const { value } = await state.change((each) => (each.since === undefined ? { ...each, since: now } : each))
  await send(beatsOf(now))
  return value
}

/**
 * Records beats that arrived, and writes the heartbeat to the indices once all its beats have. The caller must have indexed all versions
 * before these beats. If versions are missing, reports them and writes no heartbeat. So when an index holds a heartbeat, all versions
 * missing before it have been reported.
 */
export async function followHeartbeat(
  { state, tell, missed }: Pick<HeartbeatParts, 'state' | 'tell' | 'missed'>,
  beats: readonly ShardHeartbeat[],
  now: number,
): Promise<void> {
  const { value } = await state.change((each) => withBeats(each, beats))
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
 * is the age of the heartbeat. A heartbeat is sent every minute, so the lag of an idle index rises to a minute.
 */
export function indexHealthOf(state: HeartbeatState, types: ServingIndices['types'], now: number): IndexHealth {
  const age = heartbeatAgeOf(state, types, now)
  const isEverySearched = Object.values(types).every(({ lost, unreconciled }) => !lost && !unreconciled)
  return {
    isWorking: latestHeartbeatOf(state) !== undefined && age <= MAX_HEARTBEAT_AGE_MS && isEverySearched,
    lag: Math.ceil(age / 1_000),
  }
}
