/**
 * Beats that have arrived, as plain data. The places of one partition of the stream are always the same ones, so usually many places have
 * arrived with the same heartbeat. Their numbers are stored as ranges.
 */
import { MIN_BEATS, type ShardHeartbeat } from '../../ports/search/heartbeat.ts'

/**
 * Beats of one heartbeat that arrived. `sent`, `of`, `before`: as in ShardHeartbeat. `places`: ranges of places, for example `0-63,70`.
 */
export type Arrival = { readonly sent: number; readonly of: number; readonly before?: number; readonly places: string }

export type ArrivedBeats = {
  /** Latest beat that arrived at each place. A place is in one of them. */
  readonly places?: readonly Arrival[]
  /** When the latest heartbeat of which all beats have arrived was sent, in ms since 1970. */
  readonly latest?: number
  /** Place whose latest beat is the oldest. No later heartbeat is complete until another beat of this place has arrived. */
  readonly awaited?: number
  /**
   * When the latest beat of each place was sent, as earlier releases record it. They may still write it during a deployment, so its beats
   * are moved to `places`. An empty object stays for a rollback: with old beats an earlier release would report missing records.
   */
  readonly arrived: Readonly<Record<string, number>>
}

/** A place, and the beat that arrived there although an earlier one did not. `known`: when the last beat that arrived before was sent. */
export type Gap = { readonly place: number; readonly sent: number; readonly known: number }

export function arrivalsOf(beats: readonly ShardHeartbeat[]): readonly Arrival[] {
  const groups = Map.groupBy(beats, ({ sent, of, before }) => `${sent} ${of} ${before}`)
  return [...groups.values()].map((group) => {
    const { sent, of, before } = group[0]!
    return { sent, of, ...(before === undefined ? {} : { before }), places: formatPlaces(group.map(({ place }) => place)) }
  })
}

/**
 * Whether a heartbeat may be complete after these beats. It is incomplete until a beat of the awaited place arrives. The first heartbeat, and
 * one with fewer places, await their last place. So one batch of a heartbeat collects the beats, instead of all batches at the same time.
 */
export const mayComplete = ({ awaited = Number.POSITIVE_INFINITY }: ArrivedBeats, arrivals: readonly Arrival[]): boolean =>
  arrivals.some(({ of, places }) => parsePlaces(places).includes(Math.min(awaited, of - 1)))

/**
 * Adds beats that arrived, in any order. The latest beat of a place counts, so repeated and late beats change nothing. Returns the same
 * object then. `gaps`: places whose previous beat never arrived.
 */
export function withArrivals<State extends ArrivedBeats>(
  state: State,
  arrivals: readonly Arrival[],
): { readonly state: State; readonly gaps: readonly Gap[] } {
  const [heartbeats, last, gaps] = [new Map<number, number>(), new Map<number, number>(), [] as Gap[]]
  // Earlier releases ignore beats of higher places. So beats that arrived while such a release was deployed are unknown.
  const ignored = Math.max(0, ...Object.values(state.arrived))
  const isIgnored = (place: number, sent: number): boolean => place >= MIN_BEATS && sent <= ignored
  for (const { sent, of, places } of state.places ?? []) {
    heartbeats.set(sent, of)
    for (const place of parsePlaces(places)) if (!isIgnored(place, sent)) last.set(place, sent)
  }
  let isChanged = false
  for (const [place, sent] of Object.entries(state.arrived)) {
    isChanged = true
    if (!heartbeats.has(sent)) heartbeats.set(sent, MIN_BEATS)
    last.set(Number(place), Math.max(sent, last.get(Number(place)) ?? sent))
  }
  for (const { sent, of, before = 0, places } of arrivals.toSorted((a, b) => a.sent - b.sent)) {
    heartbeats.set(sent, of)
    for (const place of parsePlaces(places)) {
      const known = last.get(place)
      if ((known !== undefined && sent <= known) || isIgnored(place, sent)) continue
      if (known !== undefined && known < before) gaps.push({ place, sent, known })
      last.set(place, sent)
      isChanged = true
    }
  }
  if (!isChanged) return { state, gaps }
  const latest = latestOf(heartbeats, last, state.latest)
  const groups = Map.groupBy(last.keys(), (place) => last.get(place)!)
  const places = [...groups].map(([sent, group]): Arrival => ({ sent, of: heartbeats.get(sent)!, places: formatPlaces(group) }))
  const awaited = oldestPlaceOf(heartbeats.get(Math.max(...heartbeats.keys()))!, last)
  return { state: { ...state, places, awaited, arrived: {}, ...(latest === undefined ? {} : { latest }) }, gaps }
}

/** Returns when the latest complete heartbeat was sent. All its places have arrived with it, or with a later one. */
function latestOf(heartbeats: ReadonlyMap<number, number>, last: ReadonlyMap<number, number>, known?: number): number | undefined {
  const newer = [...heartbeats].filter(([sent]) => known === undefined || sent > known).toSorted(([a], [b]) => b - a)
  return newer.find(([sent, of]) => placesBelow(of).every((place) => (last.get(place) ?? -1) >= sent))?.[0] ?? known
}

/** Returns the place below `of` with the oldest beat. Of several the highest: it is sent last, so it often arrives last. */
const oldestPlaceOf = (of: number, last: ReadonlyMap<number, number>): number =>
  placesBelow(of).reduce((oldest, place) => ((last.get(place) ?? -1) <= (last.get(oldest) ?? -1) ? place : oldest))

const placesBelow = (of: number): number[] => Array.from({ length: of }, (_, place) => place)

function formatPlaces(places: readonly number[]): string {
  const ranges: [number, number][] = []
  for (const place of places.toSorted((a, b) => a - b)) {
    const range = ranges.at(-1)
    if (range !== undefined && place <= range[1] + 1) range[1] = place
    else ranges.push([place, place])
  }
  return ranges.map(([first, end]) => (first === end ? first : `${first}-${end}`)).join(',')
}

const parsePlaces = (text: string): readonly number[] =>
  text.split(',').flatMap((range) => {
    const [first = 0, end = first] = range.split('-').map(Number)
    return Array.from({ length: end - first + 1 }, (_, i) => first + i)
  })
