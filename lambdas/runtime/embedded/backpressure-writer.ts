/** Delays writes while the index lags so far behind that searches would wait too long for it. */
import { setTimeout as wait } from 'node:timers/promises'
import type { WriterWith } from '../../interactions/interaction.ts'

/** Maximum milliseconds that the index may need to catch up. Above it, writes are delayed. */
const LONGEST_DELAY = 2_000
/**
 * Minimum number of versions of a large write. Delayed large writes wait one after the other. Small ones wait on their own, so they do not
 * queue behind an import.
 */
const LARGE = 50
/** Milliseconds between two checks of the index position. */
const PAUSE = 10

/**
 * Progress of the index for a tenant. `positionOf`: its position in the change feed. `delay`: milliseconds until it has caught up, 0 if it
 * makes no progress. `isApart`: whether it follows the tenant separately from the others.
 */
export type IndexCatchUp = {
  readonly positionOf: (tenant: string) => number
  readonly delay: (tenant: string) => number
  readonly isApart: (tenant: string) => boolean
}

export type CountedVersions = {
  /** Counts the versions of the tenant among the next `most` versions after a position of the change feed. */
  readonly countAfter: (position: number, tenant: string, most: number) => number
}

/**
 * Returns a writer that delays writes while the index lags. A write waits until the index has advanced by as many versions as it has, or
 * until the lag is at most LONGEST_DELAY.
 */
export function backpressureWriter<More extends readonly unknown[]>(
  writer: WriterWith<More>,
  index: IndexCatchUp,
  versions: CountedVersions,
): WriterWith<More> {
  /** Last turn of large writes, by tenant that the index follows separately. Key undefined: all other tenants. */
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
   * Returns how many versions of the tenant the index indexed between two positions. A separately followed tenant has gaps, because the
   * index skips versions of other tenants. Only large writes subtract these, because counting reads the store.
   */
  const takenBetween = (tenant: string, before: number, now: number, count: number): number =>
    count >= LARGE && index.isApart(tenant) ? versions.countAfter(before, tenant, now - before) : now - before
  /**
   * Waits for the turn of a large write. Tenants that the index follows separately have their own turns, so other tenants do not wait for
   * their pace.
   */
  const inTurn = (tenant: string, count: number): Promise<void> => {
    const line = index.isApart(tenant) ? tenant : undefined
    const turn = (turns.get(line) ?? Promise.resolve()).then(() => hold(tenant, count))
    // A turn that fails, because the store cannot be read, must not block the next one.
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
