/**
 * Cache of recently read versions, because searches find the same ones repeatedly. A version never changes, so no cached version is
 * wrong. The cache holds at most one version of a resource, and drops it when a commit supersedes it.
 */
import { LruCache } from '../../fhir/profile/definitions/lru-cache.ts'
import type { ResourceKey, ResourceReader, ResourceVersion, ResourceWriter } from '../../ports/store/resource-store.ts'

/** Default maximum bytes of all cached versions. */
const ROOM = 16_000_000
/** Maximum bytes of a cached body. Larger bodies would displace many others. */
const LARGEST = 65_536
/** Approximate bytes of a version without its body. */
const BESIDES = 500

/** Store methods that requests need. */
export type RequestStore = Pick<ResourceReader, 'current' | 'versions' | 'history'> & ResourceWriter

/** Returns the store with a cache. All writes must use the returned store. `room`: maximum bytes of the cache. */
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
        // A commit that failed may still have been applied.
        for (const write of writes) kept.delete(nameOf(write))
      }
    },
  }
}

/** Returns a unique name, since no part contains a slash. */
const nameOf = ({ tenant, type, id }: ResourceKey): string => `${tenant}/${type}/${id}`

/** Fills the gaps with the versions read, in order. Ends with the body that uses up `room` bytes, and omits the rest. */
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
