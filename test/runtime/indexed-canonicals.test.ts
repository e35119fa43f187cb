/** Canonicals of an embedded server. */
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { IndexedCanonicals } from '../../lambdas/interactions/indexed-canonicals.ts'
import type { Write } from '../../lambdas/ports/resource-store.ts'
import { readConfig } from '../../lambdas/runtime/config.ts'
import { readingOf } from '../../lambdas/runtime/reading-of.ts'
import { openStores } from '../../lambdas/runtime/stores.ts'
import { canonicalsContract } from '../contracts/canonicals.contract.ts'
import { newFolder } from '../fixtures/at-end.ts'

const valueSet: Write = {
  ...{ tenant: 't', type: 'ValueSet', id: 'a', expected: 0, lastUpdated: 1_000, deleted: false, compartments: [] },
  body: Buffer.from(JSON.stringify({ resourceType: 'ValueSet', url: 'http://example.org/a' })),
}

async function create(folder = newFolder()) {
  const stores = await openStores({
    path: (name) => join(folder, name),
    now: Date.now,
    reading: readingOf(readConfig({ FHIR_ACCESS: 'open' }), 'http://127.0.0.1/fhir'),
    budget: 60_000,
    report: (error) => {
      throw error
    },
  })
  const canonicals = new IndexedCanonicals({ index: stores.searcher, resources: stores.store })
  const store = { ...canonicals.counting(stores.store), current: stores.store.current.bind(stores.store) }
  return { canonicals, store, close: stores.close }
}

canonicalsContract('SQLite', () => create())

it('have a state where somebody wrote one before the server started', async () => {
  const folder = newFolder()
  const first = await create(folder)
  await first.store.commit([valueSet], [])
  await first.close()
  const second = await create(folder)
  expect([await second.canonicals.state('t'), await second.canonicals.state('other')]).toEqual(['["t",1]', ''])
  expect(await second.canonicals.carrying('t', 'ValueSet', 'http://example.org/a', 1)).toEqual([{ tenant: 't', type: 'ValueSet', id: 'a' }])
  await second.close()
})

it('have another state where a commit fails, which may have taken effect', async () => {
  const canonicals = new IndexedCanonicals({
    index: { find: async () => ({ hits: [], more: false }) },
    resources: { history: async () => ({ versions: [], more: false }) },
  })
  expect(await canonicals.state('t')).toBe('')
  const failing = canonicals.counting({ commit: async () => Promise.reject(new Error('the thread ended')) })
  await expect(failing.commit([valueSet], [])).rejects.toThrow('the thread ended')
  expect(await canonicals.state('t')).not.toBe('')
})
