/** The searcher thread of the embedded home: always as new as what was acknowledged, whatever happens to the thread or its file. */
import { closeSync, existsSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { SqliteResourceStore } from '../../../lambdas/adapters/sqlite-store/resource-store.ts'
import type { Definitions } from '../../../lambdas/indexing/custom-definitions.ts'
import { Damaged } from '../../../lambdas/ports/damaged.ts'
import type { Write } from '../../../lambdas/ports/resource-store.ts'
import { SearchTooCostly } from '../../../lambdas/ports/too-costly.ts'
import { Searcher } from '../../../lambdas/runtime/searcher/searcher.ts'
import type { Plan, Predicate } from '../../../lambdas/search/plan.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { patient } from '../../fixtures/resources.ts'
import { keyOf, patientOf, writeOf } from '../../fixtures/versions.ts'

const folder = newFolder()
/** Of an index, where each of them begins. */
const PARTS = process.env.FHIR_TEST_FULL === '1' ? 31 : 1
const PAGES_DAMAGED = Array.from({ length: PARTS }, (_, n) => (n + 0.5) / PARTS)

let homes = 0
const open: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

async function homeOf({ name = `${++homes}`, budget = 10_000 } = {}) {
  const [file, index] = [join(folder, `${name}.db`), join(folder, `${name}.index.db`)]
  const reports: string[] = []
  const told: Partial<Definitions>[] = []
  const store = await SqliteResourceStore.open({ file, onCommit: () => searcher.follow() })
  const searcher = new Searcher({
    thread: new URL('../../../lambdas/runtime/searcher/searcher-thread.ts', import.meta.url),
    store: file,
    index,
    acknowledged: () => store.lastPosition(),
    reading: { baseUrl: 'http://127.0.0.1/fhir' },
    budget,
    report: (error) => reports.push(String(error)),
    onDefinitions: (definitions) => told.push(definitions as Partial<Definitions>),
  })
  const close = async (): Promise<void> => {
    await searcher.close()
    await store.close()
  }
  open.push(close)
  return { name, file, index, reports, told, store, searcher, close: () => open.splice(open.indexOf(close), 1)[0]!() }
}

const named = (id: string, family: string, expected = 0): Write => writeOf(patientOf(id), { expected, body: patient(id, { family }) })

const exactly = (...families: readonly string[]): Predicate => ({ kind: 'key', field: 'family:exact', oneOf: families })
const planOf = (where: Predicate): Plan => ({ tenant: 't', types: ['Patient'], where, order: [], limit: 100, total: 'accurate' })
const found = async (searcher: Searcher, where: Predicate): Promise<string> =>
  (await searcher.find(planOf(where))).hits.map(({ id, version }) => `${id}/${version}`).join(' ')

describe('The searcher', () => {
  it('sees everything that was acknowledged before the search', async () => {
    const { store, searcher } = await homeOf()
    for (let i = 0; i < 50; i++) {
      await store.commit([named('a', `F${i}`, i)], [])
      expect(await found(searcher, exactly(`F${i}`, `F${i - 1}`))).toBe(`a/${i + 1}`)
    }
    expect(searcher.lag()).toBe(0)
  })

  it('sees all of a flood of writes, during which it works little', async () => {
    const { store, searcher } = await homeOf()
    const flood = Array.from({ length: 40 }, (_, i) =>
      store.commit(
        Array.from({ length: 100 }, (_, j) => named(`${i}-${j}`, `F${j}`)),
        [],
      ),
    )
    for (const each of flood.slice(0, 20)) await each
    const acknowledged = store.lastPosition()
    const { total } = await searcher.find(planOf(exactly('F7')))
    expect(total).toBeGreaterThanOrEqual(Math.floor(acknowledged / 100))
    await Promise.all(flood)
    expect((await searcher.find(planOf(exactly('F7')))).total).toBe(40)
    expect(searcher.lag()).toBe(0)
  })

  it('passes over a version it cannot read, tells which, and takes the next one', async () => {
    const { store, searcher, reports, told } = await homeOf()
    const broken = writeOf(patientOf('b'), { body: '{"resourceType":' })
    await store.commit([named('a', 'X'), broken, named('c', 'X')], [])
    expect(await found(searcher, exactly('X'))).toBe('a/1 c/1')
    expect(await found(searcher, { kind: 'key', field: '_id:code', oneOf: ['b'] })).toBe('b/1')
    expect(told.at(-1)?.poisoned).toEqual([{ tenant: 't', type: 'Patient', id: 'b', versionId: 1, reason: 'Error' }])
    expect(reports).toEqual(['Error: a Patient could not be indexed: Error'])
    await store.commit([named('b', 'X', 1)], [])
    expect(await found(searcher, exactly('X'))).toBe('a/1 b/2 c/1')
    expect(told.at(-1)?.poisoned).toEqual([])
  })

  it('tells what somebody defined once, and then how far it is', async () => {
    const { store, searcher, told } = await homeOf()
    await store.commit(
      Array.from({ length: 1_000 }, (_, i) => named(`${i}`, 'X')),
      [],
    )
    expect(await found(searcher, exactly('Y'))).toBe('')
    told.length = 0
    const definition = { resourceType: 'SearchParameter', id: 'own', status: 'active', code: 'own', base: ['Patient'], type: 'string', expression: 'Patient.name.family' } // biome-ignore format: one resource
    await store.commit([writeOf(keyOf('t', 'SearchParameter', 'own'), { body: definition })], [])
    await until(() => told.some(({ definitions }) => definitions?.[0]?.state === 'active'))
    const [first, ...more] = told.map((each) => Object.keys(each).join())
    expect([first, more.pop(), [...new Set(more)]]).toEqual(['definitions,rebuilds', 'definitions,rebuilds', ['rebuilds']])
    const done = told.slice(1, -1).map(({ rebuilds }) => rebuilds?.[0]?.done)
    expect(done).toEqual([128, 256, 384, 512, 640, 768, 896])
    expect(
      (await searcher.find(planOf({ kind: 'key', field: `${told[0]!.definitions![0]!.mapping.field}:exact`, oneOf: ['X'] }))).total,
    ).toBe(1_000)
  })

  it('goes on where it was when it is opened again', async () => {
    const first = await homeOf()
    await first.store.commit(
      Array.from({ length: 300 }, (_, i) => named(`${i}`, 'X')),
      [],
    )
    await first.close()
    const second = await homeOf({ name: first.name })
    expect((await second.searcher.find(planOf(exactly('X')))).total).toBe(300)
    await second.store.commit([named('0', 'Y', 1), named('new', 'X')], [])
    expect((await second.searcher.find(planOf(exactly('X')))).total).toBe(300)
  })

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
      'knows more than the store',
      (index: string) => {
        const db = new DatabaseSync(index)
        db.exec("UPDATE about SET value = 1000000 WHERE name = 'position'; DELETE FROM posting")
        db.close()
      },
    ],
  ])('makes an index anew that %s', async (_, spoil) => {
    const first = await homeOf()
    await first.store.commit([named('a', 'X'), named('b', 'X')], [])
    expect(await found(first.searcher, exactly('X'))).toBe('a/1 b/1')
    await first.close()
    spoil(first.index)
    const second = await homeOf({ name: first.name })
    expect(await found(second.searcher, exactly('X'))).toBe('a/1 b/1')
  })

  it('lets an index made by another extractor answer, with what is written meanwhile, until the next one takes over', async () => {
    const first = await homeOf()
    const writes = Array.from({ length: 3_000 }, (_, i) => named(`${i}`, `F${i}`))
    await first.store.commit(writes, [])
    expect(await found(first.searcher, exactly('F1'))).toBe('1/1')
    await first.close()
    madeByAnother(first.index)
    const { searcher, store, told, index } = await homeOf({ name: first.name })
    expect(await found(searcher, exactly('F1', 'F2'))).toBe('')
    await store.commit([named('1', 'F1', 1), named('new', 'F1')], [])
    expect(await found(searcher, exactly('F1', 'F2'))).toBe('1/2 new/1')
    expect(told.at(-1)?.rebuilds).toEqual([{ tenant: '', type: 'Resource', done: expect.any(Number), total: expect.any(Number) }])
    expect(existsSync(`${index}.next`)).toBe(true)
    await until(() => told.at(-1)?.rebuilds?.length === 0)
    expect(await found(searcher, exactly('F1', 'F2'))).toBe('1/2 2/1 new/1')
    expect(readdirSync(folder).filter((name) => name.startsWith(`${first.name}.index.db.next`))).toEqual([])
    expect((await searcher.find(planOf(exactly(...writes.map((_, i) => `F${i}`))))).total).toBe(3_001)
  })

  it('puts what was made of the next index in the place of one that turns out to be damaged', async () => {
    const first = await homeOf()
    await first.store.commit(
      Array.from({ length: 3_000 }, (_, i) => named(`${i}`, `F${i}`)),
      [],
    )
    expect(await found(first.searcher, exactly('F1'))).toBe('1/1')
    await first.close()
    madeByAnother(first.index)
    const second = await homeOf({ name: first.name })
    await until(() => second.told.some(({ rebuilds = [] }) => rebuilds.some(({ done }) => done > 0)))
    await second.close()
    writeFileSync(first.index, 'x'.repeat(100_000))
    const third = await homeOf({ name: first.name })
    expect(await found(third.searcher, exactly('F1', 'F2999'))).toBe('1/1 2999/1')
  })

  it('throws a file away that turns out to be damaged while it is used, and answers the search all the same', async () => {
    const first = await homeOf()
    const writes = Array.from({ length: 2_000 }, (_, i) => named(`${i}`, `Family ${i}`))
    await first.store.commit(writes, [])
    expect(await found(first.searcher, exactly('Family 1'))).toBe('1/1')
    await first.close()
    scramble(first.index)
    const second = await homeOf({ name: first.name })
    expect((await second.searcher.find(planOf({ kind: 'contains', field: 'family:exact', text: 'Family' }))).total).toBe(2_000)
    expect(second.reports).toEqual(['Damaged: the search index is damaged: it is made again'])
  })

  it.each(PAGES_DAMAGED)('answers what is true whichever page of its index is damaged (the part at %d)', async (part) => {
    const first = await homeOf()
    const writes = Array.from({ length: 1_500 }, (_, i) => named(`${i}`, `Family ${i}`))
    await first.store.commit(writes, [])
    expect(await found(first.searcher, exactly('Family 1'))).toBe('1/1')
    await first.close()
    overwrite(first.index, part)
    const { searcher, reports } = await homeOf({ name: first.name })
    expect((await searcher.find(planOf({ kind: 'contains', field: 'family:exact', text: 'Family' }))).total).toBe(1_500)
    expect(await found(searcher, exactly(...writes.slice(0, 99).map((_, i) => `Family ${i * 15}`)))).toBe(
      writes
        .filter((_, i) => i % 15 === 0 && i < 99 * 15)
        .map(({ id }) => `${id}/1`)
        .toSorted()
        .join(' '),
    )
    expect(reports.filter((report) => report !== 'Damaged: the search index is damaged: it is made again')).toEqual([])
  })

  it('says that the store is damaged where it cannot be read, throws no index away, and goes on when it can', async () => {
    const first = await homeOf()
    await first.store.commit([named('a', 'X')], [])
    expect(await found(first.searcher, exactly('X'))).toBe('a/1')
    await first.close()
    // Nobody indexes what comes now.
    const writing = await SqliteResourceStore.open({ file: first.file })
    const writes = Array.from({ length: 300 }, (_, i) => named(`${i}`, 'Y'.repeat(2_000)))
    await writing.commit(writes, [])
    await writing.close()
    const sound = readFileSync(first.file)
    const { ino } = statSync(first.index)
    // Its log is in the file, and would be read instead.
    for (const end of ['-wal', '-shm']) rmSync(first.file + end)
    overwrite(first.file, 0.5)
    const second = await homeOf({ name: first.name })
    for (let asked = 0; asked < 3; asked++) {
      const error = await second.searcher.find(planOf(exactly('X'))).catch((error: unknown) => error)
      expect(error).toEqual(new Damaged('store', 'the store is damaged: it is malformed'))
    }
    expect(second.reports).toEqual(['Damaged: the store is damaged: it is malformed'])
    expect(statSync(first.index).ino).toBe(ino)
    await second.close()
    writeFileSync(first.file, sound)
    const third = await homeOf({ name: first.name })
    expect((await third.searcher.find(planOf(exactly('X', 'Y'.repeat(2_000))))).total).toBe(301)
    expect(statSync(first.index).ino).toBe(ino)
  })

  it('finds a version whose body was changed on the disk by its key alone, and the others as ever', async () => {
    const first = await homeOf()
    await first.store.commit([named('a', 'X'), named('b', 'X')], [])
    await first.close()
    const db = new DatabaseSync(first.file)
    db.exec("UPDATE version SET body = CAST(replace(body, 'X', 'Y') AS BLOB) WHERE id = 'a'")
    db.close()
    rmSync(first.index)
    const second = await homeOf({ name: first.name })
    expect(await found(second.searcher, exactly('X', 'Y'))).toBe('b/1')
    expect(await found(second.searcher, { kind: 'key', field: '_id:code', oneOf: ['a'] })).toBe('a/1')
  })

  it('ends a thread that does not close, as in the middle of a pattern, and what waits for it is told', async () => {
    const program =
      "import { parentPort } from 'node:worker_threads'; parentPort.postMessage({ kind: 'position', position: 1 }); /^(a+)+$/.test('a'.repeat(60) + '!')"
    const searcher = new Searcher({
      thread: new URL(`data:text/javascript,${encodeURIComponent(program)}`),
      store: '', index: '', reading: {}, budget: 60_000, acknowledged: () => 1, report: () => undefined,
    }) // biome-ignore format: one line of options
    const asked = searcher.find(planOf(exactly('X'))).catch(String)
    await until(() => searcher.lag() === 0)
    const set = setTimeout
    const spy = jest.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void) => set(run, 0)) as typeof setTimeout)
    await searcher.close()
    spy.mockRestore()
    expect(await asked).toBe('Error: the index is closed')
  })

  it('waits twice as long before each thread that fails, until one comes further', async () => {
    const pauses: number[] = []
    const set = setTimeout
    const spy = jest.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms = 0) => {
      if (ms >= 500) pauses.push(ms)
      return set(run, ms >= 500 ? 0 : ms)
    }) as typeof setTimeout)
    const searcher = new Searcher({
      thread: new URL('data:text/javascript,throw new Error()'),
      store: '', index: '', reading: {}, budget: 1, acknowledged: () => 0, report: () => undefined,
    }) // biome-ignore format: one line of options
    await until(() => pauses.length === 9)
    spy.mockRestore()
    expect(pauses.slice(0, 9)).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
    await searcher.close()
  })

  it('indexes a version that cannot be read by its key, says so without its content, and goes on', async () => {
    const { store, searcher, reports } = await homeOf()
    const broken = writeOf(patientOf('broken'), { body: '{"secret": ' })
    await store.commit([broken, named('next', 'X')], [])
    expect(await found(searcher, exactly('X'))).toBe('next/1')
    expect(await found(searcher, { kind: 'all', of: [] })).toBe('broken/1 next/1')
    expect(reports).toEqual([expect.stringMatching(/^Error: a Patient could not be indexed: /)])
    expect(reports[0]).not.toContain('secret')
  })

  it('gives up a search that costs too much; the others are answered', async () => {
    const { store, searcher } = await homeOf({ budget: 500 })
    await store.commit(
      Array.from({ length: 500 }, (_, i) => named(`${i}`, `${'y'.repeat(3_000)} ${i}`)),
      [],
    )
    const costly: Predicate = {
      kind: 'some',
      of: Array.from({ length: 20_000 }, (_, i) => ({ kind: 'contains', field: 'family', text: `x${i}` })),
    }
    while (searcher.lag() > 0) await wait(10)
    const answers = [searcher.find(planOf(costly)), found(searcher, exactly('none'))] as const
    await expect(answers[0]).rejects.toThrow(SearchTooCostly)
    expect(await answers[1]).toBe('')
  })

  it('answers nothing more when it is closed', async () => {
    const { searcher, close } = await homeOf()
    await close()
    await expect(searcher.find(planOf(exactly('X')))).rejects.toThrow('closed')
  })
})

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await wait(5)
}

/** What another extractor put into it is told apart: nothing. */
function madeByAnother(file: string): void {
  const db = new DatabaseSync(file)
  db.exec("UPDATE about SET value = 'another' WHERE name = 'maker'; DELETE FROM posting; UPDATE document SET held = ''")
  db.close()
}

/** Overwrites the root of the postings. */
function scramble(file: string): void {
  const db = new DatabaseSync(file)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  const { page_size: size, page_count: pages } = db.prepare('SELECT * FROM pragma_page_size, pragma_page_count').get() as {
    page_size: number
    page_count: number
  }
  const tables = db.prepare("SELECT name, rootpage FROM sqlite_schema WHERE name = 'posting'").all() as { rootpage: number }[]
  db.close()
  const fd = openSync(file, 'r+')
  for (const { rootpage } of tables) writeSync(fd, Buffer.alloc(size, 0x5a), 0, size, (Math.min(rootpage, pages) - 1) * size)
  closeSync(fd)
}

/** A page is noise from now on: the one a part of the file's length after its beginning. */
function overwrite(file: string, part: number): void {
  const page = 8_192
  const open = openSync(file, 'r+')
  const at = Math.floor((part * statSync(file).size) / page) * page
  writeSync(open, Buffer.from(Array.from({ length: page }, (_, n) => (n * 167 + (n >> 3)) % 251)), 0, page, at)
  closeSync(open)
}
