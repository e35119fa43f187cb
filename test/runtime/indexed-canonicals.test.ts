/** Definitions of an embedded server by canonical URL. */
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { IndexedCanonicals } from '../../lambdas/interactions/validation/indexed-canonicals.ts'
import type { Write } from '../../lambdas/ports/store/resource-store.ts'
import { readConfig } from '../../lambdas/runtime/config.ts'
import { openStores } from '../../lambdas/runtime/embedded/stores.ts'
import { searchContextOf } from '../../lambdas/runtime/search-context.ts'
import { canonicalsContract, collectPages } from '../contracts/canonicals.contract.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { failOnReport } from '../fixtures/never-reports.ts'

const valueSet: Write = {
  ...{ tenant: 't', type: 'ValueSet', id: 'a', expected: 0, lastUpdated: 1_000, deleted: false, compartments: [] },
  body: Buffer.from(JSON.stringify({ resourceType: 'ValueSet', url: 'http://example.org/a' })),
}

async function create(folder = newFolder()) {
  const stores = await openStores({
    path: (name) => join(folder, name),
    now: Date.now,
    reading: searchContextOf(readConfig({ FHIR_ACCESS: 'open' }), { baseUrl: 'http://127.0.0.1/fhir' }),
    budget: 60_000,
    report: failOnReport,
  })
  const canonicals = new IndexedCanonicals({
    index: stores.searcher,
    resources: stores.store,
    acknowledged: () => stores.store.lastPosition(),
  })
  const store = { ...canonicals.counting(stores.store), current: stores.store.current.bind(stores.store) }
  return { canonicals, store, close: stores.close }
}

canonicalsContract('SQLite', () => create())

it('canonicals have a state if a definition was stored before the server started', async () => {
  const folder = newFolder()
  const first = await create(folder)
  await first.store.commit([valueSet], [])
  await first.close()
  const second = await create(folder)
  expect([await second.canonicals.state('t'), await second.canonicals.state('other')]).toEqual(['["t",1]', ''])
  const found = await collectPages(second.canonicals.carrying('t', 'ValueSet', 'http://example.org/a'))
  expect(found).toEqual([[{ tenant: 't', type: 'ValueSet', id: 'a' }]])
  await second.close()
})

it('canonicals change their state if a commit fails, because it may have taken effect', async () => {
  const canonicals = new IndexedCanonicals({
    index: { find: async () => ({ hits: [], more: false }), position: 0 },
    resources: { history: async () => ({ versions: [], more: false }) },
    acknowledged: () => 0,
  })
  expect(await canonicals.state('t')).toBe('')
  const failing = canonicals.counting({ commit: async () => Promise.reject(new Error('the thread ended')) })
  await expect(failing.commit([valueSet], [])).rejects.toThrow('the thread ended')
  expect(await canonicals.state('t')).not.toBe('')
})

describe('Definitions that are not indexed yet', () => {
  /** Returns canonicals whose index and store both stand at `start`. */
  function canonicalsAt(start: number) {
    const index = { position: start, acknowledged: start, asked: [] as (number | undefined)[] }
    const canonicals = new IndexedCanonicals({
      index: {
        get position() {
          return index.position
        },
        async find(_, upTo) {
          index.asked.push(upTo)
          return { hits: [], more: false }
        },
      },
      resources: { history: async () => ({ versions: [], more: false }) },
      acknowledged: () => index.acknowledged,
    })
    const url = 'http://example.org/a'
    const carrying = async (of = 't') => (await collectPages(canonicals.carrying(of, 'ValueSet', url))).flat().map(({ id }) => id)
    return { index, canonicals, carrying }
  }

  it('are found, while searches wait only for the index position before them', async () => {
    const { index, canonicals, carrying } = canonicalsAt(10)
    const committed = { kind: 'committed' } as const
    const store = canonicals.counting({ commit: async () => committed })
    index.acknowledged = 15
    await store.commit([valueSet], [])
    index.acknowledged = 20
    await store.commit([{ ...valueSet, id: 'b' }], [])
    expect([await carrying(), await carrying('other'), index.asked]).toEqual([['a', 'b'], [], [10, 10]])
    index.position = 15
    expect([await carrying(), index.asked.at(-1)]).toEqual([['b'], 15])
    // A thread that ended restarts at its last commit.
    index.position = 12
    expect([await carrying(), index.asked.at(-1)]).toEqual([['b'], 15])
    index.position = 20
    expect([await carrying(), index.asked.at(-1)]).toEqual([[], 20])
  })

  it('are waited for if a commit failed, because it may have taken effect', async () => {
    const { index, canonicals, carrying } = canonicalsAt(20)
    const failing = canonicals.counting({ commit: async () => Promise.reject(new Error('the thread ended')) })
    await expect(failing.commit([{ ...valueSet, tenant: 'doubtful' }], [])).rejects.toThrow('the thread ended')
    await Promise.all([carrying('doubtful'), carrying()])
    expect(index.asked.slice(-2)).toEqual([undefined, 20])
  })
})
