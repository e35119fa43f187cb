/**
 * Cached JSON Web Key Sets. A set is fetched when it is first needed. Use after five minutes, or after its max-age if that is shorter,
 * fetches it again.
 *
 * If a fetch fails, `keyCacheOf` (external issuers) continues to use cached keys. `jwksCache` (clients) uses them only until the max-age of
 * the last response.
 * https://hl7.org/fhir/smart-app-launch/client-confidential-asymmetric.html#registering-a-client-communicating-public-keys
 */
import type { Clock } from '../../ports/execution/clock.ts'
import { type FetchDocument, NotFetched } from '../../ports/security/fetch-document.ts'
import { type CachedKey, KeyCache } from './key-cache.ts'

export type JwksCacheParts = {
  readonly fetchDocument: FetchDocument
  readonly clock: Pick<Clock, 'now'>
  /** Receives the error of the first failed fetch of a set. Further failures are reported only after a successful fetch. */
  readonly report: (error: unknown) => void
}

/** Age at which a set is fetched again, in milliseconds. */
const FRESH = 300_000
/** Maximum cached sets. Above it the set that was added first is dropped, and fetched again when needed. */
const MAX_SETS = 1_000

/** Creates the cache of the set at one URL. */
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
 * Returns a function that returns the keys of a set by its URL. `fresh`: fetches the set again, unless the last fetch began within ten
 * seconds, or failed within one second. The function throws the fault `unavailable` if the set was never fetched, or if its max-age has
 * passed and it cannot be fetched.
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
