/**
 * The pulse (ports/search/heartbeat.ts), as all processes know of it. One stream is many, each in order for itself: a pulse is sent in so many beats that
 * they go through all of them, and has arrived when the last beat has. Then all that was acknowledged before it was sent is indexed, so it may be told
 * to the indices. A beat that never came tells that what was sent with it never came either. Changes are pure.
 */
import type { SharedState } from '../ports/rows/shared-state.ts'
import type { IndexHeartbeats, ShardHeartbeat } from '../ports/search/heartbeat.ts'
import { isServing, type ServingIndices } from '../ports/search/serving-indices.ts'

/** Of n streams of the same size one is without a beat with a probability of n · (1 − 1/n)^64 at most: of 4 with 4 in 100 million, of 8 with 2 in 1,000. */
export const BEATS_PER_HEARTBEAT = 64

export type HeartbeatState = {
  /** When the first pulse was sent: ms since 1970. Absent before. */
  readonly since?: number
  /** By place: when the latest beat was sent that arrived. */
  readonly arrived: Readonly<Record<string, number>>
  readonly held: IndexHeartbeats
  /** Of what was stamped with this instant or later some never came, which nobody has been told of yet: ms since 1970. */
  readonly lost?: number
  /** When somebody was, last: ms since 1970. */
  readonly toldAt?: number
}

export const NO_HEARTBEAT: HeartbeatState = { arrived: {}, held: {} }

export type HeartbeatParts = {
  readonly state: SharedState<HeartbeatState>
  /** Writes them to the store. */
  readonly send: (beats: readonly ShardHeartbeat[]) => Promise<void>
  /** Tells all indices of a pulse, but those that were set back since they held another. What holds it now. */
  readonly tell: (sent: number, held: IndexHeartbeats) => Promise<IndexHeartbeats>
  /** Of what was stamped with this instant or later some never came: ms since 1970. */
  readonly missed: (since: number) => Promise<void>
}

/** Versions may be stamped so long before they come: ms. */
const STAMPED = 60 * 60_000

/** By then all functions know of it that something is made again: ms. */
const KNOWN = 60_000

/** The latest pulse that has arrived: when it was sent. */
export function latestHeartbeatOf({ arrived }: HeartbeatState): number | undefined {
  const all = Object.values(arrived)
  return all.length < BEATS_PER_HEARTBEAT ? undefined : Math.min(...all)
}

/** Of beats that come again, or late, the latest counts. */
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

/** Everything that came before the beats is indexed. Of what never came is told first: who goes by a pulse knows of that when it comes. */
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

/** How long ago the latest pulse was sent that all live indices have, or the first one, where none has arrived: ms. */
export function heartbeatAgeOf(state: HeartbeatState, live: ServingIndices | undefined, now: number): number {
  const told = Object.entries(state.held).flatMap(([type, { identity, sent }]) =>
    live !== undefined && isServing(live, type) && live.types[type] === identity ? [sent] : [],
  )
  return now - Math.min(now, latestHeartbeatOf(state) ?? state.since ?? now, ...told)
}
