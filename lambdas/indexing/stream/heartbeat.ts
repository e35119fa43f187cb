/**
 * Heartbeats (ports/search/heartbeat.ts) in the state that all processes share. The stream has several shards, each ordered by itself. A
 * heartbeat consists of many beats, so that some pass through every shard. It has arrived when its last beat has. Every version
 * acknowledged before it was sent is then indexed, and it may be written to the indices. A beat that never arrives shows that versions sent
 * with it are missing too. Changes are pure.
 */
import type { SharedState } from '../../ports/rows/shared-state.ts'
import type { IndexHeartbeats, ShardHeartbeat } from '../../ports/search/heartbeat.ts'
import { isServing, type ServingIndices } from '../../ports/search/serving-indices.ts'

/**
 * Beats of one heartbeat. With n equal shards, the probability of one without a beat is at most n · (1 − 1/n)^64. That is 4 in 100 million
 * for 4 shards, and 2 in 1,000 for 8.
 */
export const BEATS_PER_HEARTBEAT = 64

export type HeartbeatState = {
  /** When the first heartbeat was sent, in ms since 1970. Absent before that. */
  readonly since?: number
  /** Send time of the latest beat that arrived, by place. */
  readonly arrived: Readonly<Record<string, number>>
  readonly held: IndexHeartbeats
  /** Earliest stamp of versions that may never have arrived, until that is reported. In ms since 1970. */
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
   * Writes the heartbeat to all indices, except those that were restored to an earlier state since their last one. Returns the indices that
   * hold it.
   */
  readonly tell: (sent: number, held: IndexHeartbeats) => Promise<IndexHeartbeats>
  /** Reports that some versions stamped at `since` or later never arrived. `since`: ms since 1970. */
  readonly missed: (since: number) => Promise<void>
}

/** How long before its arrival a version may be stamped, in milliseconds. */
const STAMPED = 60 * 60_000

/**
 * Time in milliseconds until all functions know of a rebuild. After missing versions are reported, no heartbeat is written for this time.
 */
const KNOWN = 60_000

/** Returns when the latest heartbeat that has arrived was sent, or undefined if none has. */
export function latestHeartbeatOf({ arrived }: HeartbeatState): number | undefined {
  const all = Object.values(arrived)
  return all.length < BEATS_PER_HEARTBEAT ? undefined : Math.min(...all)
}

/**
 * Records beats that arrived. The latest beat of a place decides, so repeated and late beats change nothing. Sets `lost` if the previous
 * beat of a place never arrived.
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
 * Handles beats that arrived, after everything before them is indexed. Reports missing versions before it writes a heartbeat to the
 * indices. So if an index holds a heartbeat, all versions missing before it have been reported.
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
 * Returns the age, in milliseconds, of the latest heartbeat that all serving indices hold. If none has arrived, returns the age of the
 * first one sent.
 */
export function heartbeatAgeOf(state: HeartbeatState, types: ServingIndices['types'], now: number): number {
  const told = Object.entries(state.held).flatMap(([type, { identity, sent }]) =>
    isServing(types[type]) && types[type]!.identity === identity ? [sent] : [],
  )
  return now - Math.min(now, latestHeartbeatOf(state) ?? state.since ?? now, ...told)
}
