/** Keys of the newest versions: every thread finds them, whether it reads often or seldom, at any state of the merge. */
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from '@jest/globals'
import { KeyFilter } from '../../../lambdas/adapters/sqlite-store/keys/key-filter.ts'
import { RecentKeys } from '../../../lambdas/adapters/sqlite-store/keys/recent-keys.ts'
import { VersionReader } from '../../../lambdas/adapters/sqlite-store/reading/version-reader.ts'
import { SqliteResourceStore } from '../../../lambdas/adapters/sqlite-store/resource-store.ts'
import { runInSnapshot } from '../../../lambdas/adapters/sqlite-store/rows.ts'
import { openForReading, openForWriting } from '../../../lambdas/adapters/sqlite-store/schema.ts'
import { KeyMerge } from '../../../lambdas/adapters/sqlite-store/writing/key-merge.ts'
import { LogWriter } from '../../../lambdas/adapters/sqlite-store/writing/log-writer.ts'
import { randomOf } from '../../contracts/generated-search.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { eventually } from '../../fixtures/eventually.ts'
import { patientKeyOf, writeOf } from '../../fixtures/versions.ts'

const folder = newFolder()

let files = 0
const newFile = (): string => join(folder, `${++files}.db`)
/** A write as the writer thread receives it. */
const packed = (id: string, expected: number) => ({
  ...writeOf(patientKeyOf(id), { expected, body: `${id}/${expected + 1}` }),
  compartments: '',
  made: null,
})

/** A writer like the writer thread, but without a thread: the test controls every step. */
class Bench {
  readonly file: string
  /** Number of versions of each resource. */
  readonly versions = new Map<string, number>()
  #db: DatabaseSync
  log: LogWriter
  readonly filter = new KeyFilter()
  #merge: KeyMerge | undefined
  #filling: Iterator<void>

  constructor(file = newFile()) {
    this.file = file
    this.#db = openForWriting(file)
    this.log = new LogWriter(this.#db, this.filter)
    this.#filling = this.filter.fill(this.#db)
  }

  /** Reopens like a new thread of the same process: the filter stays. */
  reopen(): void {
    this.#db.close()
    this.#db = openForWriting(this.file)
    this.log = new LogWriter(this.#db, this.filter)
    this.#merge = undefined
    this.#filling = this.filter.fill(this.#db)
  }

  fillStep(): boolean {
    return this.#filling.next().done !== true
  }

  commit(ids: readonly string[], fails = false): void {
    const expected = ids.map((id) => this.versions.get(id) ?? 0)
    const rows = ids.map((id, i) => ({
      seq: this.log.position + 1 + i,
      kind: this.log.kindOf('t', 'Patient'),
      write: packed(id, expected[i]!),
    }))
    expect(rows.map((row) => this.log.isNext(row))).toEqual(rows.map(() => true))
    const add = () => {
      for (const row of rows) this.log.addVersion(row)
      for (const row of rows) this.log.addKey(row)
      if (fails) throw new Error('the disk is full')
    }
    if (fails) return expect(() => this.log.atomically(add)).toThrow('full')
    this.log.atomically(add)
    this.log.position += ids.length
    for (const [i, id] of ids.entries()) this.versions.set(id, expected[i]! + 1)
  }

  /** Returns true if a merge ended. */
  mergeStep(): boolean {
    this.#merge ??= new KeyMerge(this.log)
    if (!this.#merge.step()) return false
    this.#merge = undefined
    return true
  }

  mergeAll(): void {
    while (!this.mergeStep());
  }

  keysInTable(): number {
    return (this.#db.prepare('SELECT count(*) AS n FROM key').get() as { readonly n: number }).n
  }

  close(): void {
    this.#db.close()
  }
}

class Reader {
  readonly #db: DatabaseSync
  readonly recent: RecentKeys
  readonly #reader: VersionReader

  constructor({ file, filter }: Pick<Bench, 'file' | 'filter'>) {
    this.#db = openForReading(file)
    this.recent = new RecentKeys(this.#db)
    this.recent.refresh()
    this.#reader = new VersionReader(this.#db, this.recent, { old: new KeyFilter(filter.shared) })
  }

  /** Results for the versions that exist, and for one more. */
  found(versions: ReadonlyMap<string, number>): readonly string[] {
    return runInSnapshot(this.#db, () => {
      this.recent.refresh()
      return [...versions].flatMap(([id, count]) => {
        const numbers = [...Array(count + 1).keys()].map((n) => this.#reader.version({ ...patientKeyOf(id), versionId: n + 1 }))
        return [this.#reader.head(patientKeyOf(id)), ...numbers].map((found) => found && new TextDecoder().decode(found.body)).map(String)
      })
    })
  }

  close(): void {
    this.#db.close()
  }
}

const expectedOf = (versions: ReadonlyMap<string, number>): readonly string[] =>
  [...versions].flatMap(([id, count]) => [`${id}/${count}`, ...[...Array(count).keys()].map((n) => `${id}/${n + 1}`), 'undefined'])

describe('Recent keys', () => {
  for (const seed of [1, 2, 3, 4])
    it(`are found by threads that look often or seldom, through commits, failures, merges and restarts (${seed})`, () => {
      const random = randomOf(seed)
      const bench = new Bench()
      bench.commit(['p0'])
      const often = new Reader(bench)
      const seldom = new Reader(bench)
      let merged = 0
      for (let round = 0; round < 150; round++) {
        const ids = [...new Set([...Array(1 + random.below(8)).keys()].map(() => `p${random.below(60)}`))]
        const chance = random.below(100)
        if (chance < 3) bench.reopen()
        else if (chance < 10) bench.commit(ids, true)
        else if (chance < 15) bench.fillStep()
        else if (chance < 40) merged += bench.mergeStep() ? 1 : 0
        else bench.commit(ids)
        if (round % 3 === 0) expect(often.found(bench.versions)).toEqual(expectedOf(bench.versions))
        if (round % 70 === 69) expect(seldom.found(bench.versions)).toEqual(expectedOf(bench.versions))
      }
      expect(merged).toBeGreaterThan(10)
      while (bench.fillStep());
      expect(bench.filter.mayHave(1, 'p60')).toBe(false)
      const late = new Reader(bench)
      for (const reader of [often, seldom, late]) {
        expect(reader.found(bench.versions)).toEqual(expectedOf(bench.versions))
        expect(reader.recent.size).toBe(bench.log.recent.size)
        reader.close()
      }
      bench.close()
    })

  it('are dropped by a thread that did not read while they were replaced and merged', () => {
    const bench = new Bench()
    bench.commit(['a', 'b'])
    const reader = new Reader(bench)
    bench.commit(['a'])
    bench.mergeAll()
    expect(bench.log.recent.size).toBe(0)
    expect(reader.found(bench.versions)).toEqual(expectedOf(bench.versions))
    expect(reader.recent.size).toBe(0)
    reader.close()
    bench.close()
  })

  it('are never merged if their commit failed, even during a merge', () => {
    const bench = new Bench()
    bench.commit([...Array(2_500).keys()].map((n) => `p${n}`))
    expect(bench.mergeStep()).toBe(false)
    bench.commit(['p7', 'new'], true)
    bench.mergeAll()
    bench.mergeAll()
    expect(bench.keysInTable()).toBe(2_500)
    bench.commit(['p7', 'new'])
    const reader = new Reader(bench)
    expect(reader.found(new Map([...bench.versions].slice(-3)))).toEqual(expectedOf(new Map([...bench.versions].slice(-3))))
    reader.close()
    bench.close()
  })

  it('stay limited when many arrive during a merge', () => {
    const bench = new Bench()
    for (let n = 0; n < 20; n++) bench.commit([...Array(1_000).keys()].map((k) => `${n}-${k}`))
    for (let merge = 0, step = 0; merge < 3; step++) {
      bench.commit([...Array(1_500).keys()].map((k) => `later-${step}-${k}`))
      if (bench.mergeStep()) merge += 1
    }
    expect(bench.log.recent.size).toBeLessThan(40_000)
    expect(bench.log.recent.size + bench.keysInTable()).toBeGreaterThanOrEqual(bench.versions.size)
    bench.close()
  })

  it('are merged although every commit makes a checkpoint due, and later while idle', async () => {
    const file = newFile()
    const store = await SqliteResourceStore.open({ file, mostRecent: 1_000 })
    const body = new Uint8Array(4_000)
    const commit = (n: number) =>
      store.commit(
        [...Array(700).keys()].map((k) => writeOf(patientKeyOf(`${n}-${k}`), { body })),
        [],
      )
    for (let n = 0; n < 12; n++) await commit(n)
    const reader = new Reader({ file, filter: new KeyFilter() })
    expect(reader.recent.size).toBeLessThan(8_400)
    const size = () => {
      reader.recent.refresh()
      return reader.recent.size
    }
    expect(await eventually(size, { until: (count) => count < 1_000 })).toBeLessThan(1_000)
    reader.close()
    await store.close()
  })

  it('are found before their commit is acknowledged', async () => {
    const file = newFile()
    const store = await SqliteResourceStore.open({ file })
    const write = writeOf(patientKeyOf('a'))
    await store.commit([write], [])
    await store.current([patientKeyOf('a')])
    const bench = new Bench(file)
    bench.versions.set('a', 1)
    bench.commit(['a', 'b'])
    expect(await store.versions([{ ...patientKeyOf('a'), versionId: 2 }])).toMatchObject([{ id: 'a', versionId: 2 }])
    bench.commit(['c'])
    expect(await store.current([patientKeyOf('c')])).toMatchObject([{ id: 'c', versionId: 1 }])
    bench.close()
    await store.close()
  })

  it('are restored when a store is opened that was closed during a merge', async () => {
    const bench = new Bench()
    bench.commit([...Array(2_500).keys()].map((n) => `p${n}`))
    bench.mergeStep()
    bench.close()
    const store = await SqliteResourceStore.open({ file: bench.file, mostRecent: 1 })
    const keys = ['p0', 'p1200', 'p2499'].map((id) => patientKeyOf(id))
    for (let expected = 1; expected < 9; expected++)
      expect(await store.commit([writeOf(keys[1]!, { expected })], [])).toEqual({ kind: 'committed' })
    expect((await store.current(keys)).map((head) => head?.versionId)).toEqual([1, 9, 1])
    expect((await store.history(keys[1]!, {}, undefined, 20)).versions.map(({ versionId }) => versionId)).toEqual([
      9, 8, 7, 6, 5, 4, 3, 2, 1,
    ])
    expect(await store.commit([writeOf(patientKeyOf('p3'))], [])).toMatchObject({ kind: 'conflict', index: 0 })
    await store.close()
  })
})
