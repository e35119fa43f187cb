/**
 * JSON Web Key Sets that others publish: fetched when they are needed, held for minutes, and as long as they cannot be had again, but never for
 * longer than their owners say. https://hl7.org/fhir/smart-app-launch/client-confidential-asymmetric.html#registering-a-client-communicating-public-keys
 */
import type { Clock } from '../../ports/execution/clock.ts'
import { type FetchDocument, NotFetched } from '../../ports/security/fetch-document.ts'
import { type CachedKey, KeyCache } from './key-cache.ts'

export type JwksCacheParts = {
  readonly fetchDocument: FetchDocument
  readonly clock: Pick<Clock, 'now'>
  /** Told when some could not be fetched. */
  readonly report: (error: unknown) => void
}

/** Milliseconds. */
const FRESH = 300_000
/** Sets that are held at once. */
const MOST = 1_000

/** Of one set. */
export const keyCacheOf = (uri: string, { fetchDocument, clock, report }: JwksCacheParts): KeyCache =>
  new KeyCache({
    async read() {
      const { bytes, ...rest } = await fetchDocument(uri)
      return { keys: (JSON.parse(new TextDecoder().decode(bytes)) as { readonly keys: readonly unknown[] }).keys, ...rest }
    },
    now: () => clock.now(),
    fresh: FRESH,
    report: (error) => report(new NotFetched(`the keys of ${uri} cannot be fetched: ${whyNot(error)}`, { cause: error })),
  })

const whyNot = (error: unknown): string => (error instanceof NotFetched ? error.message : 'they are no JSON Web Key Set')

/** Of any: each is asked for as its owner says. `fresh`: read again, at most once in ten seconds. Unavailable where a set could never be fetched. */
export function jwksCache(parts: JwksCacheParts): (uri: string, fresh: boolean) => Promise<readonly CachedKey[]> {
  const sets = new Map<string, KeyCache>()
  return (uri, fresh) => {
    let held = sets.get(uri)
    if (held === undefined) {
      held = keyCacheOf(uri, parts)
      const [first] = sets.keys()
      if (sets.size >= MOST) sets.delete(first!)
      sets.set(uri, held)
    }
    return held.all(fresh)
  }
}
