/** Delays writes while the index is so far behind that searches would wait too long for it. */
import { setTimeout as wait } from 'node:timers/promises'
import type { WriterWith } from '../../interactions/interaction.ts'

/** Maximum time that the index may need to catch up before writes are delayed, in milliseconds. */
const LONGEST_DELAY = 2_000
/** Minimum number of versions of a large write. Large writes wait in turn, so that small ones do not wait behind an import. */
const LARGE = 50
/** Milliseconds between two checks of the position. */
const PAUSE = 10

/**
 * Progress of the index for one tenant. `positionOf`: its position in the change feed. `delay`: milliseconds until it has caught up, 0 if
 * it makes no progress. `isApart`: whether it follows the tenant at a separate pace.
 */
export type IndexCatchUp = {
  readonly positionOf: (tenant: string) => number
  readonly delay: (tenant: string) => number
  readonly isApart: (tenant: string) => boolean
}

export type CountedVersions = {
  /** Returns how many of the next `most` versions after a position of the change feed belong to the tenant. */
  readonly countAfter: (position: number, tenant: string, most: number) => number
}

/**
 * Returns a writer that delays writes while the index is behind. A write waits until as many positions are indexed as it has versions, or
 * the index has nearly caught up.
 */
export function backpressureWriter<More extends readonly unknown[]>(
  writer: WriterWith<More>,
  index: IndexCatchUp,
  versions: CountedVersions,
): WriterWith<More> {
  /** Last turns, by tenant that the index follows apart. undefined: turn of all other tenants. */
  const turns = new Map<string | undefined, Promise<void>>()
  const hold = async (tenant: string, count: number): Promise<void> => {
    let [position, taken] = [index.positionOf(tenant), 0]
    while (index.delay(tenant) > LONGEST_DELAY && taken < count) {
      await wait(PAUSE)
      const [before, now] = [position, index.positionOf(tenant)]
      position = now
      if (now > before) taken += takenBetween(tenant, before, now, count)
    }
  }
  /**
   * Returns how many versions the index has indexed for the tenant. If the index follows the tenant apart, it passes versions of other
   * tenants without work. Only large writes exclude those, because counting reads the store.
   */
  const takenBetween = (tenant: string, before: number, now: number, count: number): number =>
    count >= LARGE && index.isApart(tenant) ? versions.countAfter(before, tenant, now - before) : now - before
  /**
   * Waits for the turn of a large write. A tenant that the index follows apart has its own turns, so other tenants do not wait for its
   * pace.
   */
  const inTurn = (tenant: string, count: number): Promise<void> => {
    const line = index.isApart(tenant) ? tenant : undefined
    const turn = (turns.get(line) ?? Promise.resolve()).then(() => hold(tenant, count))
    // If the store could not be read, the next write still gets its turn.
    turns.set(
      line,
      turn.catch(() => undefined),
    )
    return turn
  }
  return {
    async commit(writes, guards, ...more) {
      const tenant = writes[0]?.tenant ?? ''
      await (writes.length < LARGE ? hold(tenant, writes.length) : inTurn(tenant, writes.length))
      return writer.commit(writes, guards, ...more)
    },
  }
}
