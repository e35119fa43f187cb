/**
 * Cache of recently read versions, because searches find the same ones repeatedly. A version never changes, so no cached version is
 * wrong. The cache holds at most one version of a resource, and drops it when a commit supersedes it.
 */
import { LruCache } from '../../fhir/profile/definitions/lru-cache.ts'
import type { ResourceKey, ResourceReader, ResourceVersion, ResourceWriter } from '../../ports/store/resource-store.ts'

/** Default maximum bytes of all cached versions. */
const ROOM = 16_000_000
/** Maximum bytes of a body in the cache. Larger ones are not cached, because they would displace many others. */
const LARGEST = 65_536
/** Approximate bytes of a cached version without its body, for the size of the cache. */
const BESIDES = 500

/** Store methods that the server uses while it processes requests. */
export type RequestStore = Pick<ResourceReader, 'current' | 'versions' | 'history'> & ResourceWriter

/**
 * Returns the store with a cache. Writes must use the returned store, which drops superseded versions. `room`: maximum bytes of the cache.
 */
export function versionCache(store: RequestStore, room = ROOM): RequestStore {
  const kept = new LruCache<ResourceVersion>(room)
  const keep = (version: ResourceVersion | undefined): ResourceVersion | undefined => {
    if (version !== undefined && version.body.length <= LARGEST) kept.set(nameOf(version), version, version.body.length + BESIDES)
    return version
  }
  return {
    current: (...asked) => store.current(...asked),
    history: (...asked) => store.history(...asked),
    async versions(keys, room = Number.POSITIVE_INFINITY) {
      const known = keys.map((key) => {
        const found = kept.get(nameOf(key))
        return found?.versionId === key.versionId ? found : undefined
      })
      const unknown = keys.filter((_, i) => known[i] === undefined)
      const read = unknown.length === 0 ? [] : (await store.versions(unknown, room)).map(keep)
      return within(room, known, read)
    },
    async commit(writes, guards) {
      try {
        return await store.commit(writes, guards)
      } finally {
        // A commit that threw may have been applied, so drop the versions in any case.
        for (const write of writes) kept.delete(nameOf(write))
      }
    },
  }
}

/** Returns a unique name, since no part contains a slash. */
const nameOf = ({ tenant, type, id }: ResourceKey): string => `${tenant}/${type}/${id}`

/** Returns `known` with its gaps filled from `read`, in order. Ends after the body with which the bodies reach `room` bytes. */
function within(
  room: number,
  known: readonly (ResourceVersion | undefined)[],
  read: readonly (ResourceVersion | undefined)[],
): readonly (ResourceVersion | undefined)[] {
  const found: (ResourceVersion | undefined)[] = []
  let [left, taken] = [room, 0]
  for (const version of known) {
    if (left <= 0 || (version === undefined && taken === read.length)) break
    const next = version ?? read[taken++]
    left -= next?.body.length ?? 0
    found.push(next)
  }
  return found
}
