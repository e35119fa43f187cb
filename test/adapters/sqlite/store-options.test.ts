/** SQLite fulfills the contract of the resource store with unusual options, too. */
import { join } from 'node:path'
import { SqliteResourceStore } from '../../../lambdas/adapters/sqlite-store/resource-store.ts'
import { resourceStoreContract } from '../../contracts/resource-store.contract.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { damageBody } from '../../fixtures/damaged-body.ts'

const STORES = {
  'SQLite whose keys are taken over all the time': { mostRecent: 1 },
  'SQLite whose versions are packed': { dictionarySize: 100 },
}
for (const [name, options] of Object.entries(STORES))
  resourceStoreContract(name, async () => {
    const file = join(newFolder(), 'resources.db')
    const store = await SqliteResourceStore.open({ file, ...options })
    return { reader: store, writer: store, close: () => store.close(), damage: async (key) => damageBody(file, key) }
  })
