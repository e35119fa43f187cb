/** Holds writes back to the pace of the index while it is so far behind that searches would wait too long for it. */
import { setTimeout as wait } from 'node:timers/promises'
import type { ResourceWriter } from '../../ports/store/resource-store.ts'

/** Maximum time that the index may need to catch up before writes are held back, in milliseconds. */
const LONGEST_DELAY = 2_000
/** Minimum number of versions of a large write. Large writes wait in turn, so that small ones do not wait behind an import. */
const LARGE = 50
/** Milliseconds between two looks. */
const PAUSE = 10

/** `position`: where the index is in the feed; `delay`: milliseconds until it has caught up, 0 where it stands still. */
export type PacedIndex = { readonly position: number; readonly delay: () => number }

/** Returns a writer that holds a write of so many versions back until the index has taken in as many, or is near. */
export function pacedWriter(writer: ResourceWriter, index: PacedIndex): ResourceWriter {
  let turn = Promise.resolve()
  const hold = async (versions: number): Promise<void> => {
    const end = index.position + versions
    while (index.delay() > LONGEST_DELAY && index.position < end) await wait(PAUSE)
  }
  return {
    async commit(writes, guards) {
      if (writes.length < LARGE) await hold(writes.length)
      else {
        turn = turn.then(() => hold(writes.length))
        await turn
      }
      return writer.commit(writes, guards)
    },
  }
}
