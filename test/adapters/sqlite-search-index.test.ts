/** The search index of the embedded home: the contract, sorting every page and walking every page in order. */
import { SqliteSearchIndex } from '../../lambdas/adapters/sqlite/search-index.ts'
import { searchIndexContract } from '../contracts/search-index.contract.ts'

for (const [name, gathered] of [['SQLite', undefined] as const, ['SQLite, walking in order', 0] as const])
  searchIndexContract(name, async () => {
    const index = new SqliteSearchIndex(':memory:', gathered)
    return { index, close: async () => index.close() }
  })
