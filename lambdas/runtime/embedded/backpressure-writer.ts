/** Holds writes back to the pace of the index while it is so far behind that searches would wait too long for it. */
import { setTimeout as wait } from 'node:timers/promises'
import type { ResourceWriter } from '../../ports/store/resource-store.ts'

/** Maximum time that the index may need to catch up before writes are held back, in milliseconds. */
const LONGEST_DELAY = 2_000
/** Minimum number of versions of a large write. Large writes wait in turn, so that small ones do not wait behind an import. */
const LARGE = 50
/** Milliseconds between two looks. */
const PAUSE = 10

/**
 * The index as a tenant meets it. `positionOf`: its position in the feed; `delay`: milliseconds until it has caught up, 0 if it makes no
 * progress; `isApart`: whether it follows the tenant at a pace of its own.
 */
export type IndexCatchUp = {
  readonly positionOf: (tenant: string) => number
  readonly delay: (tenant: string) => number
  readonly isApart: (tenant: string) => boolean
}

export type CountedVersions = {
  /** Returns how many of the next `most` versions after a position of the feed are the tenant's. */
  readonly countAfter: (position: number, tenant: string, most: number) => number
}

/** Returns a writer that holds a write back until the index has indexed as many positions as the write has versions, or has nearly caught up. */
export function backpressureWriter(writer: ResourceWriter, index: IndexCatchUp, versions: CountedVersions): ResourceWriter {
  let sharedTurn = Promise.resolve()
  const ownTurns = new Map<string, Promise<void>>()
  const hold = async (tenant: string, count: number): Promise<void> => {
    let [position, taken] = [index.positionOf(tenant), 0]
    while (index.delay(tenant) > LONGEST_DELAY && taken < count) {
      await wait(PAUSE)
      const [before, now] = [position, index.positionOf(tenant)]
      position = now
      if (now > before) taken += takenBetween(tenant, before, now, count)
    }
  }
  /** An index that follows a tenant apart passes the versions of others without work. A small write does not count them. */
  const takenBetween = (tenant: string, before: number, now: number, count: number): number =>
    count >= LARGE && index.isApart(tenant) ? versions.countAfter(before, tenant, now - before) : now - before
  /** Waits for the turn of a large write. A tenant that is followed apart has turns of its own, so no other tenant waits for its pace. */
  const inTurn = (tenant: string, count: number): Promise<void> => {
    if (!index.isApart(tenant)) {
      sharedTurn = sharedTurn.then(() => hold(tenant, count))
      return sharedTurn
    }
    const turn = (ownTurns.get(tenant) ?? Promise.resolve()).then(() => hold(tenant, count))
    // The next write has its turn also after a store that could not be read.
    ownTurns.set(
      tenant,
      turn.catch(() => undefined),
    )
    return turn
  }
  return {
    async commit(writes, guards) {
      const tenant = writes[0]?.tenant ?? ''
      await (writes.length < LARGE ? hold(tenant, writes.length) : inTurn(tenant, writes.length))
      return writer.commit(writes, guards)
    },
  }
}
