/** The search index of the embedded home: the contract, sorting every page and walking every page in order; and its budget. */
import { expect, it } from '@jest/globals'
import { SqliteSearchIndex } from '../../lambdas/adapters/sqlite/search-index.ts'
import { TooCostly } from '../../lambdas/ports/too-costly.ts'
import { all, type Plan, type Predicate } from '../../lambdas/search/plan.ts'
import { document } from '../contracts/index-document.ts'
import { searchIndexContract } from '../contracts/search-index.contract.ts'

for (const [name, options] of [
  ['SQLite', {}],
  ['SQLite, walking in order', { gathered: 0 }],
] as const)
  searchIndexContract(name, async () => {
    const index = new SqliteSearchIndex(':memory:', options)
    return { index, close: async () => index.close() }
  })

it('A search of the SQLite index ends when its budget is used up, and the next one is answered', async () => {
  const index = new SqliteSearchIndex(':memory:', { budget: 20 })
  await index.apply(Array.from({ length: 5_000 }, (_, i) => document({ id: `${i}`, keys: { b: [`${'y'.repeat(50)}${i}`] } })))
  const contains: Predicate = {
    kind: 'some',
    of: Array.from({ length: 2_000 }, (_, i) => ({ kind: 'contains', field: 'b', text: `x${i}` })),
  }
  const plan: Plan = { tenant: 'one', types: ['Observation'], where: contains, order: [], limit: 10, total: 'estimate' }
  await expect(index.find(plan)).rejects.toThrow(TooCostly)
  await expect(index.find({ ...plan, where: all(contains, { kind: 'key', field: 'b', oneOf: ['none'] }) })).resolves.toMatchObject({
    hits: [],
  })
  index.close()
})
