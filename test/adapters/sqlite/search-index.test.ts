/** The SQLite search index: the contract with sorted pages and with ordered walks, and the budget. */
import { expect, it } from '@jest/globals'
import { SearchPreempted } from '../../../lambdas/adapters/sqlite-index/reading/budget.ts'
import { SqliteSearchIndex } from '../../../lambdas/adapters/sqlite-index/search-index.ts'
import { and, type Plan, type Predicate } from '../../../lambdas/ports/search/plan.ts'
import { exactValuesContract, executorOf } from '../../contracts/exact-values.contract.ts'
import { document } from '../../contracts/index-document.ts'
import { searchIndexContract } from '../../contracts/search-index.contract.ts'
import { sharedIndexContract } from '../../contracts/shared-index.contract.ts'
import { fault } from '../../fixtures/machine-fault.ts'

for (const [name, options] of [
  ['SQLite', {}],
  ['SQLite, walking in order', { gathered: 0 }],
] as const)
  searchIndexContract(name, async () => {
    const index = new SqliteSearchIndex(':memory:', options)
    return { index, close: async () => index.close() }
  })

sharedIndexContract('SQLite', async () => {
  const index = new SqliteSearchIndex(':memory:')
  return { index, close: async () => index.close() }
})

exactValuesContract('SQLite', 2, () => executorOf(new SqliteSearchIndex(':memory:')))

it('The SQLite index finds tuples by uncached labels, and only those of the newest version', async () => {
  const index = new SqliteSearchIndex(':memory:')
  const labelled = (id: number, version: number, label: string) =>
    document({ id: `${id}`, version, tuples: { t: [{ key: 'k', labels: ['all', label], ranges: [[id, id]] }] } })
  const found = async (label: string, whole: boolean, low = 0): Promise<string> => {
    const range = { kind: 'number', relation: 'within', low, high: Number.POSITIVE_INFINITY } as const
    const where: Predicate = { kind: 'tuple', field: 't', key: 'k', labels: [{ text: label, whole }], ranges: [range] }
    const { hits, total } = await index.find({
      tenant: 'one',
      types: ['Observation'],
      where,
      access: 'everything',
      order: [],
      limit: 2,
      total: 'accurate',
    })
    return `${hits.map(({ id }) => id).join(' ')} of ${total}`
  }
  const MANY = 11_000
  index.applyNow(Array.from({ length: MANY }, (_, i) => labelled(i, 1, `label ${i}`)))
  for (const _ of ['in memory', 'written']) {
    expect(await found('label 7', true)).toBe('7 of 1')
    expect(await found('label 1099', false)).toBe('1099 10990 of 11')
    expect(await found('all', true, MANY - 2)).toBe('10998 10999 of 2')
    index.commit()
  }
  index.applyNow(Array.from({ length: MANY }, (_, i) => labelled(i, 2, `label ${i % 2 === 0 ? i : i + 1}`)))
  for (const _ of ['in memory', 'written']) {
    expect(await found('label 7', true)).toBe(' of 0')
    expect(await found('label 8', true)).toBe('7 8 of 2')
    index.commit()
  }
  await index.apply([labelled(8, 3, 'label 7')])
  expect(await found('label 7', true)).toBe('8 of 1')
  expect(await found('label 8', true)).toBe('7 of 1')
  index.close()
})

it('The SQLite index returns the current keys of matches after each write, committed or not', async () => {
  const index = new SqliteSearchIndex(':memory:')
  const keyed = (id: number, version: number, key: string) => document({ id: `${id}`, version, keys: { a: ['x'], c: [key] } })
  const where: Predicate = { kind: 'key', field: 'a', oneOf: ['x'] }
  const told = async (...keys: readonly string[]): Promise<void> => {
    const of = { tenant: 'one', types: ['Observation'], where, access: 'everything' } as const
    for (const _ of ['in memory', 'written']) {
      expect((await index.distinct(of, 'c', 100)).toSorted()).toEqual(keys)
      index.commit()
    }
  }
  index.applyNow(Array.from({ length: 300 }, (_, i) => keyed(i, 1, `k${i % 4}`)))
  await told('k0', 'k1', 'k2', 'k3')
  await told('k0', 'k1', 'k2', 'k3')
  index.applyNow([keyed(1, 2, 'new')])
  await told('k0', 'k1', 'k2', 'k3', 'new')
  index.applyNow(Array.from({ length: 75 }, (_, i) => keyed(4 * i + 3, 2, 'k0')))
  await told('k0', 'k1', 'k2', 'new')
  index.close()
})

it.each([
  ['its budget', { budget: 20 }, {}],
  ['that of its plan', { budget: 3_600_000 }, { budget: 20 }],
])('A search of the SQLite index ends with %s; the next one is answered', async (_, options, planned) => {
  const index = new SqliteSearchIndex(':memory:', options)
  await index.apply(Array.from({ length: 5_000 }, (_, i) => document({ id: `${i}`, keys: { b: [`${'y'.repeat(50)}${i}`] } })))
  const contains: Predicate = {
    kind: 'some',
    of: Array.from({ length: 2_000 }, (_, i) => ({ kind: 'contains', field: 'b', text: `x${i}` })),
  }
  const plan: Plan = {
    tenant: 'one',
    types: ['Observation'],
    where: contains,
    access: 'everything',
    order: [],
    limit: 10,
    total: 'estimate',
  }
  await expect(index.find({ ...plan, ...planned })).rejects.toThrow(fault('too-costly'))
  await expect(index.find({ ...plan, where: and(contains, { kind: 'key', field: 'b', oneOf: ['none'] }) })).resolves.toMatchObject({
    hits: [],
  })
  index.close()
})

it('The SQLite index answers a search, and groups, after they were preempted', async () => {
  let others = true
  const index = new SqliteSearchIndex(':memory:', { gathered: 0, givesWay: () => others })
  index.applyNow(
    Array.from({ length: 1_000 }, (_, i) =>
      document({ id: `${i}`, groups: { 'g:g': ['one'] }, order: { date: { low: i, high: i } }, present: ['date'] }),
    ),
  )
  const matching = { tenant: 'one', types: ['Observation'], where: and(), access: 'everything' } as const
  const order = [{ field: 'date', descending: false }]
  const asked = [
    { ask: () => index.findNow({ ...matching, order, limit: 900, total: 'none' }).hits.length, answer: 900 },
    { ask: () => index.groupsNow({ ...matching, field: 'g:g', order, hits: 1, limit: 1 }).total, answer: 1_000 },
    { ask: () => index.distinctNow(matching, '_id:code', 2_000).length, answer: 1_000 },
  ]
  for (const { ask, answer } of asked) {
    others = true
    expect(ask).toThrow(SearchPreempted)
    others = false
    expect([ask(), ask()]).toEqual([answer, answer])
  }
  index.close()
})
