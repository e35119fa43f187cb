/** Reads many versions without holding more of them than there is room for: a thousand resources may have 16 MB each. */
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import { yieldIfDue } from '../time-slices.ts'

/** Keys of the first reading. Most pages have no more, and so need no second one. */
const FIRST = 100
/** Keys of one reading: a store may read them all before it returns. */
const MOST_AT_ONCE = 500

type Version = ResourceVersion | undefined

/** Signature of `current` and `versions` of the store. */
export type ReadVersions<Key> = (keys: readonly Key[], room: number) => Promise<readonly Version[]>

/** Reads the keys in their order, up to the body that uses up the room. The size of one reading decides how many keys the next one has room for. */
export async function readUpTo<Key>(room: number, keys: readonly Key[], read: ReadVersions<Key>): Promise<readonly Version[]> {
  const found: Version[] = []
  let [size, left] = [FIRST, room]
  while (found.length < keys.length && left > 0) {
    const pause = yieldIfDue()
    if (pause !== undefined) await pause
    const some = keys.slice(found.length, found.length + size)
    const versions = await read(some, left)
    // A reading may end early for a body that is hidden from the request. It takes no room of the page.
    found.push(...versions)
    left -= weightOf(versions)
    size = Math.min(MOST_AT_ONCE, Math.max(1, Math.floor((left * found.length) / (room - left))))
  }
  return found
}

/** Bytes of the bodies of one part. */
const PART = 4_500_000

/** Reads all keys in parts, each with the keys it is of: for a caller that keeps little of what it reads. */
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

/** Bytes of their bodies. */
export const weightOf = (versions: readonly Version[]): number => versions.reduce((sum, version) => sum + (version?.body.length ?? 0), 0)
