/** The searcher with damaged files: its results are right, intact files are kept, and the damage is reported once. */
import { closeSync, openSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from '@jest/globals'
import { SqliteResourceStore } from '../../../../lambdas/adapters/sqlite-store/resource-store.ts'
import { MachineFault } from '../../../../lambdas/ports/faults.ts'
import { ThreadedIndex } from '../../../../lambdas/runtime/threads/search/threaded-index.ts'
import { eventually } from '../../../fixtures/eventually.ts'
import { caseCountOf } from '../../../fixtures/long-runs.ts'
import { incompressibleTextOf } from '../../../fixtures/versions.ts'
import { exactFamilyPredicate, findHits, openSearchHome, patientWriteOf, planOf, replaceIndexMaker } from './index-folder.ts'

/** Number of places in an index file, of which each test damages one. */
const PARTS = caseCountOf(3, 31)
const PAGES_DAMAGED = Array.from({ length: PARTS }, (_, n) => (n + 0.5) / PARTS)

describe('The searcher with damaged files', () => {
  it.each([
    ['is damaged', (index: string) => writeFileSync(index, 'x'.repeat(100_000))],
    [
      'is of another format',
      (index: string) => {
        const db = new DatabaseSync(index)
        db.exec("UPDATE about SET value = 'another' WHERE name = 'format'; DELETE FROM posting")
        db.close()
      },
    ],
    [
      'is ahead of the store',
      (index: string) => {
        const db = new DatabaseSync(index)
        db.exec("UPDATE about SET value = 1000000 WHERE name = 'position'; DELETE FROM posting")
        db.close()
      },
    ],
    [
      'is ahead of the store except for one tenant',
      (index: string) => {
        const db = new DatabaseSync(index)
        db.exec(`INSERT OR REPLACE INTO about VALUES ('apart', '{"all":1000000,"apart":[["other",2]]}'); DELETE FROM posting`)
        db.close()
      },
    ],
  ])('rebuilds an index that %s', async (_, spoil) => {
    const first = await openSearchHome()
    await first.store.commit([patientWriteOf('a', 'X'), patientWriteOf('b', 'X')], [])
    expect(await findHits(first.searcher, exactFamilyPredicate('X'))).toBe('a/1 b/1')
    await first.close()
    spoil(first.index)
    const second = await openSearchHome({ name: first.name })
    expect(await findHits(second.searcher, exactFamilyPredicate('X'))).toBe('a/1 b/1')
  })

  it('replaces a damaged index by the next one, as far as that was built', async () => {
    const first = await openSearchHome()
    await first.store.commit(
      Array.from({ length: 3_000 }, (_, i) => patientWriteOf(`${i}`, `F${i}`)),
      [],
    )
    expect(await findHits(first.searcher, exactFamilyPredicate('F1'))).toBe('1/1')
    await first.close()
    replaceIndexMaker(first.index)
    const second = await openSearchHome({ name: first.name })
    await eventually(() => second.told.some(({ rebuilds = [] }) => rebuilds.some(({ done }) => done > 0)))
    await second.close()
    writeFileSync(first.index, 'x'.repeat(100_000))
    const third = await openSearchHome({ name: first.name })
    expect(await findHits(third.searcher, exactFamilyPredicate('F1', 'F2999'))).toBe('1/1 2999/1')
  })

  it('discards an index that a search finds damaged, and answers the search', async () => {
    const first = await openSearchHome()
    const writes = Array.from({ length: 2_000 }, (_, i) => patientWriteOf(`${i}`, `Family ${i}`))
    await first.store.commit(writes, [])
    expect(await findHits(first.searcher, exactFamilyPredicate('Family 1'))).toBe('1/1')
    await first.close()
    scramble(first.index)
    const second = await openSearchHome({ name: first.name })
    expect((await second.searcher.find(planOf({ kind: 'contains', field: 'family:exact', text: 'Family' }))).total).toBe(2_000)
    expect(second.reports).toEqual(['Damaged: the search index is damaged: it is made again'])
  })

  it.each(PAGES_DAMAGED)('returns right results, whichever page of its index is damaged (the part at %d)', async (part) => {
    const first = await openSearchHome()
    const writes = Array.from({ length: 1_500 }, (_, i) => patientWriteOf(`${i}`, `Family ${i}`))
    await first.store.commit(writes, [])
    expect(await findHits(first.searcher, exactFamilyPredicate('Family 1'))).toBe('1/1')
    await first.close()
    overwrite(first.index, part)
    const { searcher, reports } = await openSearchHome({ name: first.name })
    expect((await searcher.find(planOf({ kind: 'contains', field: 'family:exact', text: 'Family' }))).total).toBe(1_500)
    expect(await findHits(searcher, exactFamilyPredicate(...writes.slice(0, 99).map((_, i) => `Family ${i * 15}`)))).toBe(
      writes
        .filter((_, i) => i % 15 === 0 && i < 99 * 15)
        .map(({ id }) => `${id}/1`)
        .toSorted()
        .join(' '),
    )
    expect(reports.filter((report) => report !== 'Damaged: the search index is damaged: it is made again')).toEqual([])
  })

  it('reports a damaged store, keeps its index, and continues once the store is readable', async () => {
    const first = await openSearchHome()
    await first.store.commit([patientWriteOf('a', 'X')], [])
    expect(await findHits(first.searcher, exactFamilyPredicate('X'))).toBe('a/1')
    await first.close()
    // No searcher indexes these writes yet.
    const writing = await SqliteResourceStore.open({ file: first.file })
    const names = Array.from({ length: 300 }, (_, i) => incompressibleTextOf(`${i}`, 2_000))
    const writes = names.map((name, i) => patientWriteOf(`${i}`, name))
    await writing.commit(writes, [])
    await writing.close()
    const sound = readFileSync(first.file)
    const { ino } = statSync(first.index)
    // The log is checkpointed, and would be read in place of the file.
    for (const end of ['-wal', '-shm']) rmSync(first.file + end)
    overwrite(first.file, 0.5)
    const second = await openSearchHome({ name: first.name })
    for (let asked = 0; asked < 3; asked++) {
      const error = await second.searcher.find(planOf(exactFamilyPredicate('X'))).catch((error: unknown) => error)
      expect(error).toEqual(new MachineFault('store-damaged', 'the store is damaged: it is malformed'))
    }
    expect(second.reports).toEqual(['Damaged: the store is damaged: it is malformed'])
    expect(second.searcher.health()).toMatchObject({ isWorking: false })
    expect(statSync(first.index).ino).toBe(ino)
    await second.close()
    writeFileSync(first.file, sound)
    const third = await openSearchHome({ name: first.name })
    expect((await third.searcher.find(planOf(exactFamilyPredicate('X', ...names)))).total).toBe(301)
    expect(third.searcher.health()).toEqual({ isWorking: true, lag: 0 })
    expect(statSync(first.index).ino).toBe(ino)
  })

  it('reports a damaged store if it cannot read the list of tenants', async () => {
    const { file, index, store, searcher, close } = await openSearchHome()
    const others = Array.from({ length: 300 }, (_, i) => ({ ...patientWriteOf(`${i}`, 'X'), tenant: 'other' }))
    await store.commit(others, [])
    await store.commit([patientWriteOf('a', 'X')], [])
    await searcher.caughtUp()
    await close()
    rmSync(index)
    scramble(file, 'kind')
    const reports: unknown[] = []
    const second = new ThreadedIndex({
      thread: new URL('../../../../lambdas/runtime/threads/search/search-thread.ts', import.meta.url),
      store: file, index, reading: {}, budget: 10_000, acknowledged: () => 301, report: (error) => reports.push(error),
    }) // biome-ignore format: one line of options
    const damage = new MachineFault('store-damaged', 'the store is damaged: it is malformed')
    await expect(second.find(planOf(exactFamilyPredicate('X')))).rejects.toEqual(damage)
    expect(reports).toEqual([damage])
    await second.close()
  })

  it('finds a version with a changed body by its key only, and others normally', async () => {
    const first = await openSearchHome()
    await first.store.commit([patientWriteOf('a', 'X'), patientWriteOf('b', 'X')], [])
    await first.close()
    const db = new DatabaseSync(first.file)
    db.exec("UPDATE version SET body = CAST(replace(body, 'X', 'Y') AS BLOB) WHERE id = 'a'")
    db.close()
    rmSync(first.index, { force: true })
    const second = await openSearchHome({ name: first.name })
    expect(await findHits(second.searcher, exactFamilyPredicate('X', 'Y'))).toBe('b/1')
    expect(await findHits(second.searcher, { kind: 'key', field: '_id:code', oneOf: ['a'] })).toBe('a/1')
  })
})

/** Overwrites the root of a table. */
function scramble(file: string, table = 'posting'): void {
  const db = new DatabaseSync(file)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  const { page_size: size, page_count: pages } = db.prepare('SELECT * FROM pragma_page_size, pragma_page_count').get() as {
    page_size: number
    page_count: number
  }
  const tables = db.prepare('SELECT name, rootpage FROM sqlite_schema WHERE name = ?').all(table) as { rootpage: number }[]
  db.close()
  const fd = openSync(file, 'r+')
  for (const { rootpage } of tables) writeSync(fd, Buffer.alloc(size, 0x5a), 0, size, (Math.min(rootpage, pages) - 1) * size)
  closeSync(fd)
}

/** Overwrites a page with noise. `part`: its offset as a fraction of the file length. */
function overwrite(file: string, part: number): void {
  const page = 8_192
  const open = openSync(file, 'r+')
  const at = Math.floor((part * statSync(file).size) / page) * page
  writeSync(open, Buffer.from(Array.from({ length: page }, (_, n) => (n * 167 + (n >> 3)) % 251)), 0, page, at)
  closeSync(open)
}
