/** The search index of the embedded home: the contract. */
import { SqliteSearchIndex } from '../../lambdas/adapters/sqlite/search-index.ts'
import { searchIndexContract } from '../contracts/search-index.contract.ts'

searchIndexContract('SQLite', async () => {
  const index = new SqliteSearchIndex(':memory:')
  return { index, close: async () => index.close() }
})
