/** The key filter: it misses no key, seldom reports an absent one, and decides nothing until it is complete. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from '@jest/globals'
import { KeyFilter } from '../../../lambdas/adapters/sqlite-store/keys/key-filter.ts'
import { SqliteResourceStore } from '../../../lambdas/adapters/sqlite-store/resource-store.ts'
import { isFault } from '../../../lambdas/ports/faults.ts'
import { randomOf } from '../../contracts/generated-search.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { eventually } from '../../fixtures/eventually.ts'
import { patientKeyOf, writeOf } from '../../fixtures/versions.ts'

const folder = newFolder()

const random = randomOf(7)
const hex = () => random.below(2 ** 24).toString(16)
const KINDS_OF_IDS: Readonly<Record<string, (n: number) => string>> = {
  'random ids': () => `${hex()}-${hex()}-${hex()}`,
  numbers: (n) => String(n),
  'numbers behind a long name': (n) => `synthetic-population-of-a-town-${n}`,
}

describe('A filter of keys', () => {
  for (const [name, idOf] of Object.entries(KINDS_OF_IDS))
    it(`has all added keys and almost no others (${name})`, () => {
      const filter = filledFrom(tableOf([]))
      const ids = [...new Set([...Array(200_000).keys()].map(idOf))]
      const told = ids.slice(0, ids.length / 2)
      for (const id of told) filter.add(3, id)
      expect(told.filter((id) => !filter.mayHave(3, id))).toEqual([])
      expect(ids.slice(told.length).filter((id) => filter.mayHave(3, id)).length).toBeLessThan(ids.length / 1000)
      expect(told.filter((id) => filter.mayHave(4, id)).length).toBeLessThan(ids.length / 1000)
    })

  it('admits every key until it has read the whole table', () => {
    const ids = [...Array(25_000).keys()].map((n) => `p${n}`)
    const table = tableOf(ids)
    const filter = new KeyFilter()
    const filling = filter.fill(table)
    for (let step = 0; step < 3; step++) {
      expect(filling.next().done).toBe(false)
      expect(filter.mayHave(1, 'new')).toBe(true)
    }
    while (filling.next().done !== true);
    expect(filter.mayHave(1, 'new')).toBe(false)
    const ofAnotherThread = new KeyFilter(filter.shared)
    expect([...filter.fill(table)]).toEqual([])
    expect(ids.filter((id) => !ofAnotherThread.mayHave(1, id))).toEqual([])
    expect(ofAnotherThread.mayHave(1, 'new')).toBe(false)
    table.close()
  })

  it('is used before the file: keys added directly to the table are not found', async () => {
    const file = join(folder, 'store.db')
    const first = await SqliteResourceStore.open({ file })
    await first.commit([writeOf(patientKeyOf('a'))], [])
    await first.close()
    const store = await SqliteResourceStore.open({ file })
    const db = new DatabaseSync(file)
    const isSeen = async (id: string) => {
      db.exec(`INSERT INTO key VALUES (1, '${id}', 1, 1)`)
      // The key leads to another resource, which is rejected.
      return store.current([patientKeyOf(id)]).then(
        ([found]) => found !== undefined,
        (error) => isFault(error, 'store-damaged'),
      )
    }
    let ghosts = 0
    await eventually(() => isSeen(`ghost${ghosts++}`), { until: (isThere) => !isThere })
    expect(await store.commit([writeOf(patientKeyOf(`ghost${ghosts - 1}`))], [])).toEqual({ kind: 'committed' })
    expect(await store.current([patientKeyOf('a'), patientKeyOf('b')])).toMatchObject([{ id: 'a', versionId: 1 }, undefined])
    db.close()
    await store.close()
  })
})

function tableOf(ids: readonly string[]): DatabaseSync {
  const db = new DatabaseSync(':memory:')
  db.exec('CREATE TABLE key (kind INTEGER, id TEXT, vid INTEGER, seq INTEGER NOT NULL, PRIMARY KEY (kind, id, vid)) WITHOUT ROWID; BEGIN')
  const insert = db.prepare('INSERT INTO key VALUES (1, ?, 1, ?)')
  for (const [n, id] of ids.entries()) insert.run(id, n)
  db.exec('COMMIT')
  return db
}

function filledFrom(table: DatabaseSync): KeyFilter {
  const filter = new KeyFilter()
  for (const _ of filter.fill(table));
  table.close()
  return filter
}
