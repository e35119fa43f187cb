/** Cache of the matches of the latest searches, so that further pages need not find them again. */
import { isDeepStrictEqual } from 'node:util'
import { type Matching, matchingOf, type Predicate } from '../../../ports/search/plan.ts'
import { type DocSet, isList } from '../lists/document-sets.ts'

/** Maximum cached searches. One more replaces the oldest. */
const MOST = 8
/** Maximum keys and conditions of a cached search. A search with more is not cached, because comparing it takes too long. */
const MOST_KEYS = 500
/** Maximum bytes of the matches of a cached search. A search with more is not cached. */
const MOST_BYTES = 250_000

type Matches = readonly { readonly docs: DocSet }[]

export class LatestMatches<Found extends Matches> {
  readonly #latest: { readonly matching: Matching; readonly found: Found }[] = []

  of(asked: Matching, find: () => Found): Found {
    const matching = matchingOf(asked)
    const at = this.#latest.findIndex((each) => isDeepStrictEqual(each.matching, matching))
    if (at >= 0) return this.#latest[at]!.found
    const found = find()
    if (sizeOf(matching) > MOST_KEYS || found.reduce((sum, { docs }) => sum + bytesOf(docs), 0) > MOST_BYTES) return found
    if (this.#latest.length === MOST) this.#latest.shift()
    this.#latest.push({ matching, found })
    return found
  }

  /** Removes all cached searches. Must be called when the index changes. */
  clear(): void {
    this.#latest.length = 0
  }
}

/** Returns the bytes of the buffer that the set keeps in memory. It may be larger than the set. */
const bytesOf = (docs: DocSet): number => (isList(docs) ? docs : docs.words).buffer.byteLength

const sizeOf = ({ where, access }: Matching): number =>
  [where, ...(access === 'everything' ? [] : Object.values(access))].reduce((sum, each) => sum + keysOf(each), 0)

/** Returns the number of keys and conditions in a predicate. */
function keysOf(p: Predicate): number {
  if (p.kind === 'all' || p.kind === 'some') return p.of.reduce((sum, each) => sum + keysOf(each), 1)
  if (p.kind === 'not') return 1 + keysOf(p.of)
  return 'oneOf' in p ? p.oneOf.length : 1
}
