/**
 * Resolves conditions that a query cannot express exactly, in two steps. A wider query finds candidates. Their distinct values are
 * evaluated in this process. The query for the values that match replaces the condition, so pages and counts are exact.
 */
import { MachineFault } from '../../ports/faults.ts'
import { type Matching, metresBetween, type Predicate, rulesOf } from '../../ports/search/plan.ts'
import { containsQuery, type ResolvedQueries, scopeOf } from './compile-plan.ts'
import { readDistinctKeys } from './distinct.ts'
import { allOf, noneOf, type Query, someOf, termsQuery } from './query.ts'
import type { SearchSession } from './search-requests.ts'

type Near = Extract<Predicate, { kind: 'near' }>
type Contains = Extract<Predicate, { kind: 'contains' }>

/** Maximum characters of a wildcard query. The automaton of a longer text with repetitions may be too large for the engine. */
const LONGEST_WILDCARD = 200
/** Pieces of a longer text that candidates must contain. Each shard makes an automaton of each piece, which takes it tens of milliseconds. */
const MAX_PIECES = 4
const MOST_CANDIDATES = 65_535

export async function resolveConditions(searching: SearchSession, matching: Matching): Promise<ResolvedQueries> {
  const resolved = new Map<Predicate, Query>()
  for (const leaf of leavesOf({ kind: 'all', of: [matching.where, ...rulesOf(matching)] })) {
    if (leaf.kind === 'near') resolved.set(leaf, await nearQuery(searching, matching, leaf))
    if (leaf.kind === 'contains' && leaf.text.length > LONGEST_WILDCARD)
      resolved.set(leaf, await longContainsQuery(searching, matching, leaf))
  }
  return resolved
}

function* leavesOf(p: Predicate): Generator<Predicate> {
  if (p.kind === 'all' || p.kind === 'some') for (const each of p.of) yield* leavesOf(each)
  else if (p.kind === 'not') yield* leavesOf(p.of)
  else yield p
}

/** Maximum distance between two points on Earth, in metres. */
const FARTHEST = 20_016_000

/**
 * Returns the query for points in a circle. The engine rounds points to centimetres and uses another model of the Earth. So points close to
 * the edge of the circle are evaluated in this process.
 */
async function nearQuery(searching: SearchSession, matching: Matching, { field, latitude, longitude, metres }: Near): Promise<Query> {
  const points = `points.${field}`
  if (metres >= FARTHEST) return { exists: { field: points } }
  const margin = 1 + metres * 1e-5
  const within = (radius: number): Query => ({
    geo_distance: { distance: `${radius.toFixed(3)}m`, [`places.${field}`]: { lat: latitude, lon: longitude }, ignore_unmapped: true },
  })
  const inside = metres > margin ? [within(metres - margin)] : []
  const edge = [within(metres + margin), noneOf(...inside)]
  const passing = (await candidatesOf(searching, matching, edge, points)).filter((point) => {
    const [lat, lon] = point.split(',').map(Number) as [number, number]
    return metresBetween([lat, lon], [latitude, longitude]) <= metres
  })
  return someOf([...inside, ...(passing.length === 0 ? [] : [termsQuery(points, passing)])])
}

async function longContainsQuery(searching: SearchSession, matching: Matching, { field, text }: Contains): Promise<Query> {
  const characters = [...text]
  const pieces = Array.from({ length: Math.min(MAX_PIECES, Math.ceil(characters.length / LONGEST_WILDCARD)) }, (_, i) =>
    containsQuery(`keys.${field}`, characters.slice(i * LONGEST_WILDCARD, (i + 1) * LONGEST_WILDCARD).join('')),
  )
  const candidates = await candidatesOf(searching, matching, pieces, `keys.${field}`)
  return termsQuery(
    `keys.${field}`,
    candidates.filter((key) => key.includes(text)),
  )
}

async function candidatesOf(
  searching: SearchSession,
  matching: Matching,
  conditions: readonly Query[],
  field: string,
): Promise<readonly string[]> {
  const query = allOf([...scopeOf(matching), ...conditions])
  const keys = await readDistinctKeys(searching, matching.types, query, field, MOST_CANDIDATES + 1)
  if (keys.length > MOST_CANDIDATES) throw new MachineFault('too-costly', 'too many values must be compared')
  return keys
}
