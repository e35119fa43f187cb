/**
 * Cached JSON Web Key Sets of clients and external issuers. A set is fetched when needed and again after five minutes. If the fetch fails,
 * the cached set remains valid. In `jwksCache` it does so only until the max-age that its owner set.
 * https://hl7.org/fhir/smart-app-launch/client-confidential-asymmetric.html#registering-a-client-communicating-public-keys
 */
import type { Clock } from '../../ports/execution/clock.ts'
import { type FetchDocument, NotFetched } from '../../ports/security/fetch-document.ts'
import { type CachedKey, KeyCache } from './key-cache.ts'

export type JwksCacheParts = {
  readonly fetchDocument: FetchDocument
  readonly clock: Pick<Clock, 'now'>
  /** Receives the error if a set cannot be fetched. */
  readonly report: (error: unknown) => void
}

/** Time after which a set is fetched again, in milliseconds. */
const FRESH = 300_000
/** Maximum cached sets. Above it the oldest is dropped, and fetched again when needed. */
const MAX_SETS = 1_000

/** Creates the cache of one set. */
export const keyCacheOf = (uri: string, { fetchDocument, clock, report }: JwksCacheParts): KeyCache =>
  new KeyCache({
    async read() {
      const { bytes, ...rest } = await fetchDocument(uri)
      return { keys: (JSON.parse(new TextDecoder().decode(bytes)) as { readonly keys: readonly unknown[] }).keys, ...rest }
    },
    now: () => clock.now(),
    fresh: FRESH,
    report: (error) => report(new NotFetched(`the keys of ${uri} cannot be fetched: ${reasonOf(error)}`, { cause: error })),
  })

const reasonOf = (error: unknown): string => (error instanceof NotFetched ? error.message : 'they are no JSON Web Key Set')

/**
 * Returns the keys of any set by its URL. `fresh`: fetches the set again, at most once in ten seconds. Throws the fault `unavailable` if
 * the set was never fetched, or if its max-age has passed and it cannot be fetched again.
 */
export function jwksCache(parts: JwksCacheParts): (uri: string, fresh: boolean) => Promise<readonly CachedKey[]> {
  const sets = new Map<string, KeyCache>()
  return (uri, fresh) => {
    let cache = sets.get(uri)
    if (cache === undefined) {
      cache = keyCacheOf(uri, parts)
      const [first] = sets.keys()
      if (sets.size >= MAX_SETS) sets.delete(first!)
      sets.set(uri, cache)
    }
    return cache.all(fresh)
  }
}
