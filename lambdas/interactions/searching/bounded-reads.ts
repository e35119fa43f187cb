/** Reads many versions within a limit of memory, because a thousand resources may have 16 MB each. */
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import { yieldIfDue } from '../time-slices.ts'

/** Keys of the first read. Most pages have no more, and so need no second read. */
const FIRST = 100
/** Maximum keys of one read, because a store may hold the bodies of all keys in memory before it returns. */
const MOST_AT_ONCE = 500

type Version = ResourceVersion | undefined

/** Signature of `current` and `versions` of the resource store. `room`: bytes of bodies after which the read ends. */
export type ReadVersions<Key> = (keys: readonly Key[], room: number) => Promise<readonly Version[]>

/**
 * Reads the keys in order. Ends after the body with which the bodies reach `room` bytes, so the result may be shorter than `keys`. The
 * average size of the bodies so far determines how many keys the next read has.
 */
export async function readUpTo<Key>(room: number, keys: readonly Key[], read: ReadVersions<Key>): Promise<readonly Version[]> {
  const found: Version[] = []
  let [size, left] = [FIRST, room]
  while (found.length < keys.length && left > 0) {
    const pause = yieldIfDue()
    if (pause !== undefined) await pause
    const some = keys.slice(found.length, found.length + size)
    const versions = await read(some, left)
    // A read may end early because of a body that is hidden from the caller. The next read continues, because hidden bodies do not count.
    found.push(...versions)
    left -= weightOf(versions)
    size = Math.min(MOST_AT_ONCE, Math.max(1, Math.floor((left * found.length) / (room - left))))
  }
  return found
}

/** Bytes of bodies after which a read ends and its part is yielded. */
const PART = 4_500_000

/** Reads all keys in parts, and yields each key with its result. For callers that retain little of each part. */
export async function* readInParts<Key, Found>(
  keys: readonly Key[],
  read: (keys: readonly Key[], room: number) => Promise<readonly Found[]>,
): AsyncGenerator<readonly (readonly [key: Key, found: Found])[]> {
  for (let at = 0; at < keys.length; ) {
    const pause = yieldIfDue()
    if (pause !== undefined) await pause
    const some = keys.slice(at, at + MOST_AT_ONCE)
    const found = await read(some, PART)
    yield found.map((each, i) => [some[i]!, each] as const)
    at += found.length
  }
}

/** Returns the bytes of all bodies. */
export const weightOf = (versions: readonly Version[]): number => versions.reduce((sum, version) => sum + (version?.body.length ?? 0), 0)
