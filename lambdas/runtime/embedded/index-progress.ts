/** Progress and rebuilds of the embedded index, for the operations `$reindex` and `$reindex-status`. */
import { statusOf } from '../../indexing/lifecycle/status.ts'
import type { IndexProgress, Reindexer } from '../../ports/search/index-status.ts'
import type { Stores } from './stores.ts'

export const reindexOf = ({ searcher }: Stores): Reindexer => ({ start: async (tenant, types) => searcher.rebuild(tenant, types) })

/**
 * Index lag, in positions of the change feed, below which a status request waits for the index. Its answer then includes new definitions.
 * With a larger lag it does not wait.
 */
const SOON_CAUGHT_UP = 2_000

/** Maximum versions after the index position that a status request examines, to count those of the tenant. */
const COUNTED = 10_000

export const progressOf = ({ store, searcher, definitions }: Stores): IndexProgress => {
  const soonCaughtUp = async (tenant: string): Promise<void> => {
    if (searcher.lag(tenant) < SOON_CAUGHT_UP) await searcher.caughtUp([String(store.lastPosition(tenant))], undefined, tenant)
  }
  return {
    async status(tenant) {
      const lag = store.countAfter(searcher.positionOf(tenant), tenant, COUNTED)
      await soonCaughtUp(tenant)
      return { lag, ...statusOf(definitions.now(), tenant) }
    },
    async parameters(tenant) {
      await soonCaughtUp(tenant)
      return definitions.now().definitions
    },
  }
}
