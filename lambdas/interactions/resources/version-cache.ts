/**
 * Versions that were read last, in memory: searches find the same ones again and again. A version never changes, so that none that is kept is
 * wrong. Of a resource there is at most one, and none once a commit has superseded it.
 */
import { LruCache } from '../../fhir/profile/definitions/lru-cache.ts'
import type { ResourceKey, ResourceReader, ResourceVersion, ResourceWriter } from '../../ports/store/resource-store.ts'

/** Bytes of all of them. */
const ROOM = 16_000_000
/** Of a body: larger ones would leave room for few others. */
const LARGEST = 65_536
/** What a version takes beside its body, about. */
const BESIDES = 500

/** What requests need of a store. */
export type RequestStore = Pick<ResourceReader, 'current' | 'versions' | 'history'> & ResourceWriter

/** The store, all of whose writes come through here. `room`: bytes. */
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
        // What failed may have been committed all the same.
        for (const write of writes) kept.delete(nameOf(write))
      }
    },
  }
}

/** No part of it has a slash inside. */
const nameOf = ({ tenant, type, id }: ResourceKey): string => `${tenant}/${type}/${id}`

/** Fills the gaps with the versions read, in order, up to the body that uses the room up. The rest stays unknown. */
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
