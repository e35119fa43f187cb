/** Check of the health of the embedded server. */
import type { IndexHealth } from '../../ports/search/index-status.ts'
import { DEFAULT_TENANT } from '../../ports/store/tenants.ts'
import type { Stores } from './stores.ts'

/** Reads the last version of the store, and returns the health of the index. Throws if the store cannot be read. */
export async function checkStores({ store, searcher }: Pick<Stores, 'store' | 'searcher'>): Promise<IndexHealth> {
  store.countAfter(store.lastPosition() - 1, DEFAULT_TENANT, 1)
  return searcher.health()
}
