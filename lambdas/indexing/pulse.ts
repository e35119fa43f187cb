/**
 * The pulse (ports/pulse.ts), as all processes know of it. One stream is many, each in order for itself: a pulse is sent in so many beats that
 * they go through all of them, and has arrived when the last beat has. Then all that was acknowledged before it was sent is indexed, so it may be told
 * to the indices. Changes are pure.
 */
import type { KeptState } from '../ports/kept-state.ts'
import { isLive, type LiveIndices } from '../ports/live-indices.ts'
import type { Beat, Held } from '../ports/pulse.ts'

/** Of n streams of the same size one is without a beat with a probability of n · (1 − 1/n)^64 at most: of 4 with 4 in 100 million, of 8 with 2 in 1,000. */
export const BEATS = 64

export type PulseState = {
  /** When the first pulse was sent: ms since 1970. Absent before. */
  readonly since?: number
  /** By place: when the latest beat was sent that arrived. */
  readonly arrived: Readonly<Record<string, number>>
  readonly held: Held
}

export const NO_PULSE: PulseState = { arrived: {}, held: {} }

export type PulseParts = {
  readonly state: KeptState<PulseState>
  /** Writes them to the store. */
  readonly send: (beats: readonly Beat[]) => Promise<void>
  /** Tells all indices of a pulse, but those that were set back since they held another. What holds it now. */
  readonly tell: (sent: number, held: Held) => Promise<Held>
}

/** The latest pulse that has arrived: when it was sent. */
export function latestOf({ arrived }: PulseState): number | undefined {
  const all = Object.values(arrived)
  return all.length < BEATS ? undefined : Math.min(...all)
}

/** Of beats that come again, or late, the latest counts. */
export function withBeats(state: PulseState, beats: readonly Beat[]): PulseState {
  const newer = beats.filter(({ place, sent }) => sent > (state.arrived[place] ?? 0))
  if (newer.length === 0) return state
  const arrived = { ...state.arrived }
  for (const { place, sent } of newer) arrived[place] = Math.max(sent, arrived[place] ?? 0)
  return { ...state, arrived }
}

export function withHeld(state: PulseState, held: Held): PulseState {
  const newer = Object.entries(held).filter(([type, { identity, sent }]) => {
    const before = state.held[type]
    return before?.identity !== identity || before.sent < sent
  })
  return newer.length === 0 ? state : { ...state, held: { ...state.held, ...Object.fromEntries(newer) } }
}

export async function sendPulse({ state, send }: Pick<PulseParts, 'state' | 'send'>, now: number): Promise<PulseState> {
  const { value } = await state.change((each) => (each.since === undefined ? { ...each, since: now } : each))
  await send(Array.from({ length: BEATS }, (_, place) => ({ place, sent: now })))
  return value
}

/** Everything that came before the beats is indexed. */
export async function followPulse({ state, tell }: Pick<PulseParts, 'state' | 'tell'>, beats: readonly Beat[]): Promise<void> {
  const { value } = await state.change((each) => withBeats(each, beats))
  const latest = latestOf(value)
  const told = Math.max(0, ...Object.values(value.held).map(({ sent }) => sent))
  if (latest === undefined || latest <= told) return
  const held = await tell(latest, value.held)
  await state.change((each) => withHeld(each, held))
}

/** How long ago the latest pulse was sent that all live indices have, or the first one, where none has arrived: ms. */
export function ageOf(state: PulseState, live: LiveIndices | undefined, now: number): number {
  const told = Object.entries(state.held).flatMap(([type, { identity, sent }]) =>
    live !== undefined && isLive(live, type) && live.types[type] === identity ? [sent] : [],
  )
  return now - Math.min(now, latestOf(state) ?? state.since ?? now, ...told)
}
