/** The search thread of the embedded deployment: it finds every acknowledged write, even after failures of the thread or its file. */
import { existsSync, readdirSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from '@jest/globals'
import type { Predicate } from '../../../../lambdas/ports/search/plan.ts'
import { ThreadedIndex } from '../../../../lambdas/runtime/threads/search/threaded-index.ts'
import { eventually } from '../../../fixtures/eventually.ts'
import { fault } from '../../../fixtures/machine-fault.ts'
import { shortenPauses } from '../../../fixtures/short-pauses.ts'
import { patientKeyOf, resourceKeyOf, writeOf } from '../../../fixtures/versions.ts'
import { exactFamilyPredicate, findHits, folder, openSearchHome, patientWriteOf, planOf, replaceIndexMaker } from './index-folder.ts'

/** Takes seconds on documents with long texts. */
const COSTLY: Predicate = {
  kind: 'some',
  of: Array.from({ length: 100_000 }, (_, i) => ({ kind: 'contains', field: 'family', text: `x${i}` })),
}

describe('The searcher', () => {
  it('finds every write acknowledged before the search', async () => {
    const { store, searcher } = await openSearchHome()
    for (let i = 0; i < 50; i++) {
      await store.commit([patientWriteOf('a', `F${i}`, i)], [])
      expect(await findHits(searcher, exactFamilyPredicate(`F${i}`, `F${i - 1}`))).toBe(`a/${i + 1}`)
    }
    expect(searcher.lag()).toBe(0)
  })

  it('finds every acknowledged write during and after a flood of writes', async () => {
    const { store, searcher } = await openSearchHome()
    const flood = Array.from({ length: 40 }, (_, i) =>
      store.commit(
        Array.from({ length: 100 }, (_, j) => patientWriteOf(`${i}-${j}`, `F${j}`)),
        [],
      ),
    )
    for (const each of flood.slice(0, 20)) await each
    const acknowledged = store.lastPosition()
    const { total } = await searcher.find(planOf(exactFamilyPredicate('F7')))
    expect(total).toBeGreaterThanOrEqual(Math.floor(acknowledged / 100))
    await Promise.all(flood)
    expect((await searcher.find(planOf(exactFamilyPredicate('F7')))).total).toBe(40)
    expect(searcher.lag()).toBe(0)
  })

  it('does not wait for writes of other tenants, and does not count them', async () => {
    const { store, searcher } = await openSearchHome()
    await store.commit([patientWriteOf('a', 'X')], [])
    await searcher.caughtUp()
    const others = Array.from({ length: 5_000 }, (_, i) => ({ ...patientWriteOf(`${i}`, 'X'), tenant: 'loud' }))
    await store.commit(others, [])
    const counts = [store.countAfter(1, 't', 10_000), store.countAfter(1, 'loud', 10_000), store.countAfter(1, 'loud', 100)]
    expect(counts).toEqual([0, 5_000, 100])
    const ended: string[] = []
    const loud = searcher.find({ ...planOf(exactFamilyPredicate('X')), tenant: 'loud' }).then(({ total }) => ended.push(`loud ${total}`))
    const mine = findHits(searcher, exactFamilyPredicate('X')).then((hits) => ended.push(hits))
    await Promise.all([loud, mine])
    expect(ended).toEqual(['a/1', 'loud 5000'])
    await store.commit([patientWriteOf('a', 'Y', 1)], [])
    expect(await findHits(searcher, exactFamilyPredicate('Y'))).toBe('a/2')
  })

  it('waits only for the own versions of a tenant that has just written', async () => {
    const { store, searcher } = await openSearchHome()
    await store.commit([patientWriteOf('a', 'X')], [])
    await searcher.caughtUp()
    const others = Array.from({ length: 20_000 }, (_, i) => ({ ...patientWriteOf(`${i}`, 'X'), tenant: 'loud' }))
    await store.commit(others, [])
    await store.commit([patientWriteOf('a', 'Y', 1)], [])
    const loud = searcher.find({ ...planOf(exactFamilyPredicate('X')), tenant: 'loud' })
    const token = [String(store.lastPosition('t'))]
    expect(await searcher.caughtUp(token, 0, 't')).toBe(true)
    expect(await findHits(searcher, exactFamilyPredicate('Y'))).toBe('a/2')
    expect((await loud).total).toBe(20_000)
    await searcher.caughtUp()
    expect([searcher.lag(), searcher.isApart('t')]).toEqual([0, false])
  })

  it('answers an eventual search at once, with the number of missing versions', async () => {
    const { store, searcher } = await openSearchHome({ ahead: { t: 1_000 } })
    await store.commit([patientWriteOf('a', 'X')], [])
    await searcher.caughtUp(['1'])
    const plan = { ...planOf(exactFamilyPredicate('X')), eventual: true } as const
    const { hits, lag } = await searcher.find(plan)
    expect([hits.map(({ id }) => id), lag]).toEqual([['a'], 999])
    const { tenant, types, where, access, order, limit } = plan
    const grouped = { tenant, types, where, access, order, limit, field: 'gender:code', hits: 1, eventual: true } as const
    const { groups, lag: behind } = await searcher.groups(grouped)
    expect([groups, behind]).toEqual([[], 999])
    expect(await searcher.distinct(plan, 'family:exact', 10)).toEqual(['X'])
  })

  it('reports to a timed out search how many versions are left, and when to retry', async () => {
    const searcher = new ThreadedIndex({
      thread: new URL('../../../fixtures/slow-searcher-thread.ts', import.meta.url),
      store: '', index: '', reading: {}, budget: 200, acknowledged: () => 1e6, report: () => undefined,
    }) // biome-ignore format: one line of options
    await eventually(() => searcher.position > 2)
    await expect(searcher.find(planOf(exactFamilyPredicate('X')))).rejects.toMatchObject({
      fault: 'index-behind',
      retryAfter: 120,
      versions: expect.any(Number),
    })
    await searcher.close()
  })

  it('rejects as too costly a search that waited for other searches, not the index', async () => {
    const program = `import { parentPort } from 'node:worker_threads'
      parentPort.postMessage({ kind: 'positions', positions: { all: 7, apart: new Map() } })
      parentPort.on('message', ({ kind }) => { if (kind === 'close') process.exit() })`
    const searcher = new ThreadedIndex({
      thread: new URL(`data:text/javascript,${encodeURIComponent(program)}`),
      store: '', index: '', reading: {}, budget: 20, acknowledged: () => 7, report: () => undefined,
    }) // biome-ignore format: one line of options
    await eventually(() => searcher.position === 7)
    await expect(searcher.find(planOf(exactFamilyPredicate('X')))).rejects.toMatchObject({ fault: 'too-costly' })
    await searcher.close()
  })

  it('answers the search that waits for less first, even if it came later', async () => {
    const { store, searcher } = await openSearchHome({ ahead: { loud: 1e9, t: 1 } })
    const loud = searcher.find({ ...planOf(exactFamilyPredicate('X')), tenant: 'loud' }).catch(String)
    const mine = findHits(searcher, exactFamilyPredicate('X'))
    await store.commit([patientWriteOf('a', 'X')], [])
    expect(await Promise.race([loud, mine])).toBe('a/1')
    await searcher.close()
    expect(await loud).toBe('Error: the index is closed')
  })

  it('waits for the positions of tokens, but not for positions that never existed', async () => {
    const { store, searcher } = await openSearchHome()
    await store.commit([patientWriteOf('a', 'X')], [])
    for (const tokens of [['1'], ['1', '1000000'], []]) expect(await searcher.caughtUp(tokens)).toBe(true)
  })

  it('skips an unreadable version, reports it, and indexes the next one', async () => {
    const { store, searcher, reports, told } = await openSearchHome()
    const broken = writeOf(patientKeyOf('b'), { body: '{"resourceType":' })
    await store.commit([patientWriteOf('a', 'X'), broken, patientWriteOf('c', 'X')], [])
    expect(await findHits(searcher, exactFamilyPredicate('X'))).toBe('a/1 c/1')
    expect(await findHits(searcher, { kind: 'key', field: '_id:code', oneOf: ['b'] })).toBe('b/1')
    expect(told.at(-1)?.poisoned).toEqual([{ tenant: 't', type: 'Patient', id: 'b', versionId: 1, reason: 'Error' }])
    expect(reports).toEqual([expect.stringMatching(/^Error: Patient\/b\/_history\/1 of tenant t is not indexed: Error\. /)])
    await store.commit([patientWriteOf('b', 'X', 1)], [])
    expect(await findHits(searcher, exactFamilyPredicate('X'))).toBe('a/1 b/2 c/1')
    expect(told.at(-1)?.poisoned).toEqual([])
  })

  it('reports a new definition once, and then the progress of its rebuild', async () => {
    const { store, searcher, told } = await openSearchHome()
    await store.commit(
      Array.from({ length: 1_000 }, (_, i) => patientWriteOf(`${i}`, 'X')),
      [],
    )
    expect(await findHits(searcher, exactFamilyPredicate('Y'))).toBe('')
    told.length = 0
    const definition = { resourceType: 'SearchParameter', id: 'own', status: 'active', code: 'own', base: ['Patient'], type: 'string', expression: 'Patient.name.family' } // biome-ignore format: one resource
    await store.commit([writeOf(resourceKeyOf('t', 'SearchParameter', 'own'), { body: definition })], [])
    await eventually(() => told.some(({ definitions }) => definitions?.[0]?.state === 'active'))
    const [first, ...more] = told.map((each) => Object.keys(each).join())
    expect([first, more.pop(), [...new Set(more)]]).toEqual(['definitions,rebuilds', 'definitions,rebuilds', ['rebuilds']])
    const done = told.slice(1, -1).map(({ rebuilds }) => rebuilds?.[0]?.done)
    expect(done).toEqual([128, 256, 384, 512, 640, 768, 896])
    expect(
      (await searcher.find(planOf({ kind: 'key', field: `${told[0]!.definitions![0]!.mapping.field}:exact`, oneOf: ['X'] }))).total,
    ).toBe(1_000)
  })

  it('reads definitions that an older release stored, and stores only changed parts of them', async () => {
    const first = await openSearchHome()
    const parameter = { resourceType: 'SearchParameter', id: 'x', url: 'x', status: 'active', code: 'x', base: ['Patient'], type: 'string' }
    await first.store.commit(
      [
        writeOf(resourceKeyOf('t', 'SearchParameter', 'x'), { body: { ...parameter, expression: 'Patient.name.family' } }),
        writeOf(patientKeyOf('b'), { body: '{"resourceType":' }),
      ],
      [],
    )
    await first.searcher.caughtUp()
    await eventually(() => first.told.some(({ definitions }) => definitions?.[0]?.state === 'active'))
    const known = Object.assign({}, ...first.told)
    await first.close()
    const notes = (change: (kept: Record<string, string>) => Record<string, string | undefined>) => {
      const db = new DatabaseSync(first.index)
      const rows = db.prepare("SELECT name, value FROM about WHERE name IN ('definitions', 'rebuilds', 'poisoned')").all()
      const kept = Object.fromEntries(rows.map(({ name, value }) => [String(name), String(value)]))
      for (const [name, value] of Object.entries(change(kept)))
        if (value === undefined) db.prepare('DELETE FROM about WHERE name = ?').run(name)
        else db.prepare('UPDATE about SET value = ? WHERE name = ?').run(value, name)
      db.close()
      return kept
    }
    const before = notes((kept) => {
      const whole = Object.assign({}, ...Object.values(kept).map((text) => JSON.parse(text)))
      return { definitions: JSON.stringify(whole), rebuilds: undefined, poisoned: undefined }
    })
    expect(Object.keys(before).toSorted()).toEqual(['definitions', 'poisoned', 'rebuilds'])
    const second = await openSearchHome({ name: first.name })
    await eventually(() => second.told.length > 0)
    expect(second.told[0]).toEqual(known)
    await second.store.commit([patientWriteOf('b', 'X', 1)], [])
    await second.searcher.caughtUp()
    await second.close()
    const after = notes(() => ({}))
    expect([Object.keys(after).toSorted(), after.poisoned]).toEqual([['definitions', 'poisoned'], '{"poisoned":[]}'])
    const third = await openSearchHome({ name: first.name })
    await eventually(() => third.told.length > 0)
    expect(third.told[0]).toEqual({ ...known, poisoned: [] })
  })

  it('continues at its position when it is reopened', async () => {
    const first = await openSearchHome()
    await first.store.commit(
      Array.from({ length: 300 }, (_, i) => patientWriteOf(`${i}`, 'X')),
      [],
    )
    await first.close()
    const second = await openSearchHome({ name: first.name })
    expect((await second.searcher.find(planOf(exactFamilyPredicate('X')))).total).toBe(300)
    await second.store.commit([patientWriteOf('0', 'Y', 1), patientWriteOf('new', 'X')], [])
    expect((await second.searcher.find(planOf(exactFamilyPredicate('X')))).total).toBe(300)
  })

  it('answers from an outdated index, with new writes, until the next index takes over', async () => {
    const first = await openSearchHome()
    const writes = Array.from({ length: 3_000 }, (_, i) => patientWriteOf(`${i}`, `F${i}`))
    await first.store.commit(writes, [])
    expect(await findHits(first.searcher, exactFamilyPredicate('F1'))).toBe('1/1')
    await first.close()
    replaceIndexMaker(first.index)
    const { searcher, store, told, index } = await openSearchHome({ name: first.name })
    expect(await findHits(searcher, exactFamilyPredicate('F1', 'F2'))).toBe('')
    await store.commit([patientWriteOf('1', 'F1', 1), patientWriteOf('new', 'F1')], [])
    expect(await findHits(searcher, exactFamilyPredicate('F1', 'F2'))).toBe('1/2 new/1')
    expect(told.at(-1)?.rebuilds).toEqual([{ tenant: '', type: 'Resource', done: expect.any(Number), total: expect.any(Number) }])
    expect(existsSync(`${index}.next`)).toBe(true)
    await eventually(() => told.at(-1)?.rebuilds?.length === 0)
    expect(await findHits(searcher, exactFamilyPredicate('F1', 'F2'))).toBe('1/2 2/1 new/1')
    expect(readdirSync(folder).filter((name) => name.startsWith(`${first.name}.index.db.next`))).toEqual([])
    expect((await searcher.find(planOf(exactFamilyPredicate(...writes.map((_, i) => `F${i}`))))).total).toBe(3_001)
  })

  it('terminates a thread that does not close, and rejects the searches that wait', async () => {
    const program =
      "import { parentPort } from 'node:worker_threads'; parentPort.postMessage({ kind: 'positions', positions: { all: 1, apart: new Map() } }); /^(a+)+$/.test('a'.repeat(60) + '!')"
    const searcher = new ThreadedIndex({
      thread: new URL(`data:text/javascript,${encodeURIComponent(program)}`),
      store: '', index: '', reading: {}, budget: 60_000, acknowledged: () => 1, report: () => undefined,
    }) // biome-ignore format: one line of options
    const asked = searcher.find(planOf(exactFamilyPredicate('X'))).catch(String)
    await eventually(() => searcher.lag() === 0)
    const { restore } = shortenPauses(0)
    await searcher.close()
    restore()
    expect(await asked).toBe('Error: the index is closed')
  })

  it('works from the first position that its thread reports until the thread ends', async () => {
    const program = `import { parentPort } from 'node:worker_threads'
      parentPort.postMessage({ kind: 'positions', positions: { all: 7, apart: new Map() } })
      parentPort.on('message', ({ kind }) => { if (kind !== 'follow') process.exit() })`
    const searcher = new ThreadedIndex({
      thread: new URL(`data:text/javascript,${encodeURIComponent(program)}`),
      store: '', index: '', reading: {}, budget: 60_000, acknowledged: () => 7, report: () => undefined,
    }) // biome-ignore format: one line of options
    expect(searcher.health().isWorking).toBe(false)
    await eventually(() => searcher.position === 7)
    expect(searcher.health()).toEqual({ isWorking: true, lag: 0 })
    searcher.rebuild('t', [])
    await eventually(() => !searcher.health().isWorking)
    await searcher.close()
  })

  it('doubles the pause before each restart of a failing thread, up to a minute', async () => {
    const { pauses, restore } = shortenPauses(500)
    const searcher = new ThreadedIndex({
      thread: new URL('data:text/javascript,throw new Error()'),
      store: '', index: '', reading: {}, budget: 1, acknowledged: () => 0, report: () => undefined,
    }) // biome-ignore format: one line of options
    await eventually(() => pauses.length >= 9)
    restore()
    expect(pauses.slice(0, 9)).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
    await searcher.close()
  })

  it('indexes an unreadable version by its key, and reports it without its content', async () => {
    const { store, searcher, reports } = await openSearchHome()
    const broken = writeOf(patientKeyOf('broken'), { body: '{"secret": ' })
    await store.commit([broken, patientWriteOf('next', 'X')], [])
    expect(await findHits(searcher, exactFamilyPredicate('X'))).toBe('next/1')
    expect(await findHits(searcher, { kind: 'all', of: [] })).toBe('broken/1 next/1')
    expect(reports).toEqual([expect.stringMatching(/^Error: Patient\/broken\/_history\/1 of tenant t is not indexed: /)])
    expect(reports[0]).not.toContain('secret')
  })

  it('interrupts a long search for later ones, and rejects it if it is too costly', async () => {
    const { store, searcher } = await openSearchHome({ budget: 2_000 })
    await store.commit(
      Array.from({ length: 500 }, (_, i) => patientWriteOf(`${i}`, `${'y'.repeat(3_000)} ${i}`)),
      [],
    )
    await eventually(() => searcher.lag() === 0)
    const ended: unknown[] = []
    const long = searcher.find(planOf(COSTLY)).catch((error: unknown) => ended.push(error))
    await findHits(searcher, exactFamilyPredicate('none')).then((short) => ended.push(short))
    await long
    expect(ended).toEqual(['', fault('too-costly')])
  })

  it('continues a long search after later ones', async () => {
    const { store, searcher } = await openSearchHome({ budget: 600_000 })
    await store.commit(
      Array.from({ length: 40 }, (_, i) => patientWriteOf(`${i}`, `${'y'.repeat(3_000)} ${i}`)),
      [],
    )
    await eventually(() => searcher.lag() === 0)
    const ended: string[] = []
    const long = searcher.find(planOf(COSTLY)).then(() => ended.push('long'))
    await findHits(searcher, exactFamilyPredicate('none')).then(() => ended.push('short'))
    await long
    expect(ended).toEqual(['short', 'long'])
  })

  it('reports to its thread which answers are no longer needed', async () => {
    const program = `import { parentPort } from 'node:worker_threads'
      parentPort.on('message', ({ kind, number }) => {
        if (kind === 'forget') parentPort.postMessage({ kind: 'poison', version: { type: 'Search', id: 'a' }, reason: number })
        if (kind === 'close') parentPort.close()
      })`
    const reports: string[] = []
    const searcher = new ThreadedIndex({
      thread: new URL(`data:text/javascript,${encodeURIComponent(program)}`),
      store: '', index: '', reading: {}, budget: 5, acknowledged: () => 0, report: (error) => reports.push(String(error)),
    }) // biome-ignore format: one line of options
    await expect(searcher.find(planOf(exactFamilyPredicate('X')))).rejects.toThrow('not answered in time')
    await eventually(() => reports.length > 0)
    expect(reports).toEqual([expect.stringContaining('is not indexed: 1.')])
    await searcher.close()
  })

  it('rejects searches after it is closed', async () => {
    const { searcher, close } = await openSearchHome()
    await close()
    await expect(searcher.find(planOf(exactFamilyPredicate('X')))).rejects.toThrow('closed')
  })
})
