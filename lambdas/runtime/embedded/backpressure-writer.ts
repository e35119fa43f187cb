/** Holds writes back while the index is so far behind that searches would wait too long for it. */
import { setTimeout as wait } from 'node:timers/promises'
import type { ResourceWriter } from '../../ports/store/resource-store.ts'

/** Versions: what the index takes in in about as long as a search may wait. */
const FARTHEST_BEHIND = 180_000
/** Milliseconds between two looks. */
const PAUSE = 10

/** `lag`: acknowledged versions that are not indexed yet. */
export const pacedWriter = (writer: ResourceWriter, lag: () => number): ResourceWriter => ({
  async commit(writes, guards) {
    while (lag() > FARTHEST_BEHIND) await wait(PAUSE)
    return writer.commit(writes, guards)
  },
})
