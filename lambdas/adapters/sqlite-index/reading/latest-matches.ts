/** What the latest searches matched, until the index changes: further pages of a search need not find it again. */
import { isDeepStrictEqual } from 'node:util'
import { type Matching, matchingOf, type Predicate } from '../../../ports/search/plan.ts'
import { type DocSet, isList } from '../lists/document-sets.ts'

/** Searches that are remembered. */
const MOST = 8
/** Of larger ones, with all they match, nothing is kept. */
const MOST_KEYS = 500
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

  /** The index has changed. */
  clear(): void {
    this.#latest.length = 0
  }
}

/** With what else is in its buffer. */
const bytesOf = (docs: DocSet): number => (isList(docs) ? docs : docs.words).buffer.byteLength

const sizeOf = ({ where, access }: Matching): number =>
  [where, ...(access === 'everything' ? [] : Object.values(access))].reduce((sum, each) => sum + keysOf(each), 0)

/** The keys, and conditions, of a predicate. */
function keysOf(p: Predicate): number {
  if (p.kind === 'all' || p.kind === 'some') return p.of.reduce((sum, each) => sum + keysOf(each), 1)
  if (p.kind === 'not') return 1 + keysOf(p.of)
  return 'oneOf' in p ? p.oneOf.length : 1
}
