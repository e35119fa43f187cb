/** The SQLite index after many updates, deletions and kills: it answers like a fresh one, and its tables hold no remains. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from '@jest/globals'
import { readEntry } from '../../../lambdas/adapters/sqlite-index/forward-entry.ts'
import { unpackNumbers } from '../../../lambdas/adapters/sqlite-index/lists/packing.ts'
import { SqliteSearchIndex } from '../../../lambdas/adapters/sqlite-index/search-index.ts'
import { and } from '../../../lambdas/ports/search/plan.ts'
import type { IndexDocument } from '../../../lambdas/ports/search/search-index.ts'
import { documentsOf, groupPlanOf, planOf, type Random, randomOf } from '../../contracts/generated-search.ts'
import { document } from '../../contracts/index-document.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { caseCountOf, firstSeed } from '../../fixtures/long-runs.ts'

const ROUNDS = caseCountOf(1, 12)
/** Number of documents: a frequent key fills several chunks. */
const DOCUMENTS = 2_000
const PLANS = caseCountOf(6, 1_000)

/** Plans that the test repeats. */
const USUAL = Array.from({ length: 4 }, (_, i) => planOf(randomOf(i)))

const folder = newFolder()

/** Versions of the same documents again and again; in some rounds many are deleted. */
function historyOf(random: Random): readonly IndexDocument[] {
  const versions = new Map<string, number>()
  return Array.from({ length: ROUNDS + 1 }, (_, round) =>
    documentsOf(random, DOCUMENTS).map((each, i): IndexDocument => {
      const id = `${round === 0 ? i : random.below(DOCUMENTS)}`
      const version = (versions.get(id) ?? 0) + 1
      versions.set(id, version)
      const isFrequent = random.below(round + 2) > 0 && !each.deleted
      return {
        ...each,
        tenant: 'one',
        type: 'Observation',
        id,
        version,
        keys: { ...each.keys, ...(isFrequent ? { z: ['frequent'] } : {}) },
      }
    }),
  ).flat()
}

type PackedBlock = { readonly first: number; readonly last: number; readonly n: number; readonly docs: Uint8Array | null }

/** The documents of a list, chunk by chunk, with violated rules of its form. `isTold`: the first is packed as well. */
function documentsIn(
  chunks: readonly PackedBlock[],
  isTold: boolean,
): { readonly docs: readonly number[]; readonly broken: readonly string[] } {
  const broken: string[] = []
  const docs = chunks.flatMap(({ first, last, n, docs }, i) => {
    const found = new Uint32Array(n).fill(first)
    if (docs !== null && unpackNumbers(docs, first, found, isTold ? 0 : 1) !== n) broken.push(`not ${n} of ${first}`)
    if (i > 0 && first <= chunks[i - 1]!.last) broken.push(`${first} in the chunk before`)
    if (found[0] !== first || found.at(-1) !== last) broken.push(`${found[0]} to ${found.at(-1)} are not ${first} to ${last}`)
    if (found.some((doc, at) => at > 0 && doc < found[at - 1]!)) broken.push(`${first} is not in order`)
    return [...found]
  })
  return { docs, broken }
}

type Lists = {
  readonly listed: ReadonlySet<string>
  readonly held: ReadonlySet<string>
  readonly broken: readonly string[]
  readonly longest: number
}

/** The content of the lists, and the stored keys of the documents. */
function listsOf(file: string): Lists {
  const db = new DatabaseSync(file, { readOnly: true })
  const all = <Row>(query: string): readonly Row[] => db.prepare(query).all() as unknown as Row[]
  const listed = new Set<string>()
  const broken: string[] = []
  const read = (name: string, isTold: boolean, rows: readonly (PackedBlock & { readonly term: string })[]): number => {
    for (const [term, chunks] of Map.groupBy(rows, ({ term }) => term)) {
      const list = documentsIn(chunks, isTold)
      for (const doc of list.docs) listed.add(`${name} ${term} ${doc}`)
      broken.push(...list.broken.map((rule) => `${name} ${term}: ${rule}`))
    }
    return Math.max(...rows.map(({ n }) => n))
  }
  const columns = 'first, last, n, docs'
  const longest = read('posting', false, all(`SELECT combination || ' ' || value AS term, ${columns} FROM posting ORDER BY 1, first`))
  read('span', true, all(`SELECT field AS term, ${columns} FROM span ORDER BY 1, first`))
  for (const { term } of all<{ term: string }>("SELECT field || ' ' || doc AS term FROM point")) listed.add(`point ${term}`)
  const unlisted = 'SELECT list AS term FROM tuples WHERE NOT EXISTS (SELECT 1 FROM span WHERE field = -list)'
  broken.push(...all<{ term: number }>(unlisted).map(({ term }) => `no tuples in ${term}`))
  const held = new Set(all<{ doc: number; held: string }>('SELECT doc, held FROM document').flatMap(({ doc, held }) => heldRows(doc, held)))
  db.close()
  return { listed, held, broken, longest }
}

function isWhole(file: string, seed: number): void {
  const { listed, held, broken, longest } = listsOf(file)
  expect({ seed, broken }).toEqual({ seed, broken: [] })
  expect({ seed, left: [...listed].filter((each) => !held.has(each)) }).toEqual({ seed, left: [] })
  expect({ seed, missing: [...held].filter((each) => !listed.has(each)) }).toEqual({ seed, missing: [] })
  expect(longest).toBeGreaterThan(900)
}

function heldRows(doc: number, text: string): readonly string[] {
  const [postings, fields, points] = readEntry(text)
  const every = <T>(flat: readonly T[], size: number): readonly (readonly T[])[] =>
    Array.from({ length: flat.length / size }, (_, i) => flat.slice(i * size, i * size + size))
  return [
    ...every(postings, 2).map(([combination, value]) => `posting ${combination} ${value} ${doc}`),
    ...fields.map((field) => `span ${field} ${doc}`),
    ...every(points, 3).map(([field]) => `point ${field} ${doc}`),
  ]
}

/** Checks that both indices answer every question alike, for documents in memory and on disk. */
async function agree(one: SqliteSearchIndex, other: SqliteSearchIndex, seed: number): Promise<void> {
  const random = randomOf(seed)
  for (let round = 0; round < PLANS; round++) {
    const plan = { ...(USUAL[round] ?? planOf(random)), tenant: 'one', types: ['Observation'] }
    expect({ seed, round, plan, page: one.findNow(plan) }).toEqual({ seed, round, plan, page: other.findNow(plan) })
    const groups = { ...groupPlanOf(random), tenant: 'one', types: ['Observation'] }
    expect({ seed, groups, page: one.groupsNow(groups) }).toEqual({ seed, groups, page: other.groupsNow(groups) })
    const distinct = (index: SqliteSearchIndex): readonly string[] => index.distinctNow(plan, 'c', 1_000).toSorted()
    expect({ seed, plan, keys: distinct(one) }).toEqual({ seed, plan, keys: distinct(other) })
  }
}

/** Makes the index cache reads and results, of random searches and then of the usual ones. */
function search(index: SqliteSearchIndex, random: Random): void {
  for (const plan of [planOf(random), planOf(random), ...USUAL]) {
    const asked = { ...plan, tenant: 'one', types: ['Observation'] }
    index.findNow(asked)
    index.distinctNow(asked, 'c', 1_000)
  }
}

/** Applies documents and a broken one: the index returns to its last commit. */
function fail(index: SqliteSearchIndex, documents: readonly IndexDocument[]): void {
  const broken = document({ id: 'broken', keys: { z: ['frequent'] }, points: { p: undefined as unknown as [] } })
  expect(() => index.applyNow([...documents, broken])).toThrow()
}

describe('an index of many versions', () => {
  const seed = firstSeed()
  const random = randomOf(seed)
  const history = historyOf(random)
  const newest = new Map(history.map((each) => [each.id, each]))
  const fresh = new SqliteSearchIndex(':memory:')
  fresh.applyNow([...newest.values()])

  it('answers like an index of the newest versions, and its lists match its documents', async () => {
    const file = join(folder, 'index.db')
    const index = new SqliteSearchIndex(file)
    for (let at = 0; at < history.length; ) {
      const size = 1 + random.below(200)
      index.applyNow(history.slice(at, at + size))
      at += size
      if (random.below(8) === 0) index.prepareCommit()
      if (random.below(12) === 0) index.commit()
      if (random.below(4) === 0) search(index, random)
    }
    await agree(index, fresh, seed)
    index.commit()
    isWhole(file, seed)
    await agree(index, fresh, seed + 1)
    index.close()
  })

  it('continues from its last commit after an error, despite later reads', async () => {
    const index = new SqliteSearchIndex(join(folder, 'failed.db'))
    for (let at = 0; at < history.length; at = Number(index.note('position') ?? 0)) {
      for (const end = Math.min(at + 700 + random.below(900), history.length); at < end; at += 100)
        index.applyNow(history.slice(at, at + 100))
      index.setNote('position', at)
      search(index, random)
      if (random.below(2) === 0) index.commit()
      index.applyNow(history.slice(at, at + 200))
      for (let steps = random.below(20); steps > 0; steps--) index.prepareCommit()
      search(index, random)
      fail(index, history.slice(at + 200, at + 250))
    }
    await agree(index, fresh, seed)
    index.commit()
    isWhole(join(folder, 'failed.db'), seed)
    index.close()
  })

  it('continues from its last commit after a kill', async () => {
    let file = join(folder, 'killed.db')
    let index = new SqliteSearchIndex(file)
    for (let kill = 0, at = 0; at < history.length; kill++) {
      for (const end = Math.min(at + 700 + random.below(900), history.length); at < end; at += 100)
        index.applyNow(history.slice(at, at + 100))
      index.setNote('position', at)
      if (random.below(2) === 0) index.commit()
      for (let steps = random.below(20); steps > 0; steps--) index.prepareCommit()
      index.applyNow(history.slice(at, at + 50))
      const next = join(folder, `killed${kill}.db`)
      for (const end of ['', '-wal']) copyFileSync(file + end, next + end)
      index.close()
      file = next
      index = new SqliteSearchIndex(file)
      at = Number(index.note('position') ?? 0)
    }
    await agree(index, fresh, seed)
    index.commit()
    isWhole(file, seed)
    index.close()
  })
})

describe('an index between two steps of a write', () => {
  const few = ['0', '1', '2', '3', '4']
  /** More values than the write sorts in one step. It writes the few keys of field `c` first, because that field is older. */
  const many = Array.from({ length: 6_000 }, (_, i) => document({ id: `many${i}`, keys: { d: [`${i}`] } }))
  const keyed = (id: string, version = 1, key = id) => document({ id, version, keys: { c: [key] } })
  const matching = { tenant: 'one', types: ['Observation'], access: 'everything' } as const
  function find(index: SqliteSearchIndex, key: string): readonly string[] {
    const where = { kind: 'key', field: 'c', oneOf: [key] } as const
    return index.findNow({ ...matching, where, order: [], limit: 10, total: 'none' }).hits.map(({ id }) => id)
  }
  const findEach = (index: SqliteSearchIndex): readonly string[] => few.flatMap((key) => find(index, key))
  const keysOf = (index: SqliteSearchIndex): readonly string[] => index.distinctNow({ ...matching, where: and() }, 'c', 1_000).toSorted()

  it.each([false, true])('finds each document and key (lists cached before: %s)', (isCached) => {
    const index = new SqliteSearchIndex(':memory:')
    index.applyNow(few.map((id) => keyed(id)))
    if (isCached) expect([findEach(index), keysOf(index)]).toEqual([few, few])
    index.applyNow(many)
    let steps = 0
    for (; !index.prepareCommit(); steps++) expect([findEach(index), keysOf(index)]).toEqual([few, few])
    expect(steps).toBeGreaterThan(6)
    expect([findEach(index), keysOf(index)]).toEqual([few, few])
    index.close()
  })

  it('removes a document from the lists that are written', () => {
    const file = join(folder, 'between.db')
    const index = new SqliteSearchIndex(file)
    index.applyNow([...few.map((id) => keyed(id)), ...many])
    expect(index.prepareCommit()).toBe(false)
    index.applyNow([keyed('3', 2, 'other')])
    index.commit()
    expect([find(index, '3'), find(index, 'other')]).toEqual([[], ['3']])
    isWhole(file, 0)
    index.close()
  })
})

it('The keys of documents are current before and after a write, and after an error', () => {
  const index = new SqliteSearchIndex(':memory:')
  const put = (version: number, id: string, key: string): void => index.applyNow([document({ id, version, keys: { c: [key] } })])
  const keys = (): readonly string[] =>
    index.distinctNow({ tenant: 'one', types: ['Observation'], where: and(), access: 'everything' }, 'c', 1_000).toSorted()
  for (let i = 0; i < 100; i++) put(1, `${i}`, 'x')
  index.commit()
  expect(keys()).toEqual(['x'])
  put(2, '1', 'y')
  expect(keys()).toEqual(['x', 'y'])
  index.commit()
  expect(keys()).toEqual(['x', 'y'])
  put(3, '1', 'z')
  while (!index.prepareCommit());
  expect(keys()).toEqual(['x', 'z'])
  fail(index, [])
  expect(keys()).toEqual(['x', 'y'])
  index.close()
})
