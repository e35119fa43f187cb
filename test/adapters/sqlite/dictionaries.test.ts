/** Versions packed with dictionaries in the store file: which are packed, how they are stored, and how damage shows. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from '@jest/globals'
import { backupStoreFile, checkStoreFile } from '../../../lambdas/adapters/sqlite-store/backup.ts'
import { SqliteChangeFeed } from '../../../lambdas/adapters/sqlite-store/change-feed.ts'
import { KeyFilter } from '../../../lambdas/adapters/sqlite-store/keys/key-filter.ts'
import { SqliteResourceStore } from '../../../lambdas/adapters/sqlite-store/resource-store.ts'
import { openForWriting, StoreFileError } from '../../../lambdas/adapters/sqlite-store/schema.ts'
import { packCommit, unpackCommit } from '../../../lambdas/adapters/sqlite-store/writing/commit-message.ts'
import { commitAll } from '../../../lambdas/adapters/sqlite-store/writing/committer.ts'
import { LogWriter } from '../../../lambdas/adapters/sqlite-store/writing/log-writer.ts'
import type { ResourceKey, Write } from '../../../lambdas/ports/store/resource-store.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { fault } from '../../fixtures/machine-fault.ts'
import { incompressibleTextOf, patientKeyOf, resourceKeyOf, versionOf, writeOf } from '../../fixtures/versions.ts'

const SIZE = 2_000
const folder = newFolder()

let files = 0
const newFile = (): string => join(folder, `${++files}.db`)

const observationOf = (id: string, tenant = 't'): ResourceKey => resourceKeyOf(tenant, 'Observation', id)

/** Bodies as clients send them: similar, with one UUID each. */
const uuidOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
const observation = (n: number, { tenant = 't', expected = 0 } = {}): Write =>
  writeOf(observationOf(`o${n}`, tenant), {
    expected,
    compartments: [`Patient/${uuidOf(n)}`],
    body: {
      resourceType: 'Observation',
      id: `o${n}`,
      status: 'final',
      category: [{ coding: [{ system: 'http://terminology.hl7.org/CodeSystem/observation-category', code: 'vital-signs' }] }],
      code: { coding: [{ system: 'http://loinc.org', code: '8302-2', display: 'Body Height' }], text: 'Body Height' },
      subject: { reference: `Patient/${uuidOf(n)}` },
      valueQuantity: { value: n, unit: 'cm', system: 'http://unitsofmeasure.org', code: 'cm' },
    },
  })

const observations = (from: number, count: number): readonly Write[] => Array.from({ length: count }, (_, n) => observation(from + n))

/** A store with ten Observations, of which the last are packed. */
async function packedFile(): Promise<string> {
  const file = newFile()
  await withStore(file, async (store) => {
    for (const write of observations(0, 10)) await store.commit([write], [])
  })
  return file
}

async function withStore<T>(file: string, use: (store: SqliteResourceStore) => Promise<T>, dictionarySize = SIZE): Promise<T> {
  const store = await SqliteResourceStore.open({ file, dictionarySize })
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

function sql(file: string, text: string): readonly Record<string, unknown>[] {
  const db = new DatabaseSync(file)
  try {
    return db.prepare(text).all()
  } finally {
    db.close()
  }
}

const rowsIn = (file: string) => sql(file, 'SELECT id, dictionary, compartments, length(body) AS size FROM version ORDER BY seq')
const dictionariesIn = (file: string) => sql(file, 'SELECT dictionary, type, length(bytes) AS size FROM dictionary ORDER BY dictionary')

const readAll = (store: SqliteResourceStore, writes: readonly Write[]) =>
  Promise.all(writes.map(async (write) => (await store.current([write]))[0]))

describe('A version', () => {
  it('is packed with its compartments once earlier versions of its type form a dictionary', async () => {
    const rows = rowsIn(await packedFile())
    expect(rows[0]).toMatchObject({ dictionary: null, compartments: `Patient/${uuidOf(0)}`, size: observation(0).body.length })
    for (const row of rows.slice(5)) {
      expect(row).toMatchObject({ dictionary: 1, compartments: '' })
      expect(row.size).toBeLessThan(observation(0).body.length / 5)
    }
  })

  it('is read as written by every kind of read', async () => {
    const file = await packedFile()
    const writes = observations(0, 10)
    const versions = writes.map(versionOf)
    await withStore(file, async (store) => {
      expect(await readAll(store, writes)).toEqual(versions)
      expect(await store.versions([{ ...observationOf('o9'), versionId: 1 }])).toEqual([versionOf(observation(9))])
      expect(new Set((await store.history({ tenant: 't', type: 'Observation' }, {}, undefined, 100)).versions)).toEqual(new Set(versions))
      for await (const page of store.scan({ tenant: 't', type: 'Observation', asOf: Date.now(), limit: 100 }))
        expect(new Set(page.versions)).toEqual(new Set(versions))
    })
    const feed = new SqliteChangeFeed(file)
    expect(feed.changes(0, 100).map(({ version }) => version)).toEqual(versions)
    expect(feed.version({ ...observationOf('o9'), versionId: 1 })).toEqual(versions[9])
    feed.close()
  })

  it('needs a dictionary of its own type; tenants share dictionaries', async () => {
    const file = await packedFile()
    await withStore(file, async (store) => {
      await store.commit([writeOf(patientKeyOf('p'), { body: observation(1).body })], [])
      await store.commit([observation(10, { tenant: 'another' })], [])
      expect(await store.current([observationOf('o10', 'another')])).toEqual([versionOf(observation(10, { tenant: 'another' }))])
    })
    expect(rowsIn(file).slice(10)).toMatchObject([{ dictionary: null }, { dictionary: 1 }])
  })

  it('fills at most half of a dictionary if it is large', async () => {
    const file = newFile()
    const large = (letter: string) => writeOf(patientKeyOf(letter), { body: Buffer.alloc(3 * SIZE, letter) })
    await withStore(file, async (store) => {
      await store.commit([large('a')], [])
      expect(dictionariesIn(file)).toEqual([])
      await store.commit([large('b')], [])
    })
    const [{ bytes } = {}] = sql(file, 'SELECT bytes FROM dictionary')
    const text = Buffer.from(bytes as Uint8Array).toString()
    expect([text.length, text.includes('a'.repeat(SIZE / 4)), text.includes('b'.repeat(SIZE / 4))]).toEqual([SIZE, true, true])
  })

  it('is stored unpacked if packing hardly helps: compressed or very large data', async () => {
    const file = await packedFile()
    const noise = incompressibleTextOf('compressed', 5_000)
    const large = new Uint8Array(300_000).fill(65)
    const writes = [writeOf(observationOf('noise'), { body: noise }), writeOf(observationOf('large'), { body: large })]
    await withStore(file, async (store) => {
      await store.commit(writes, [])
      expect(await readAll(store, writes)).toEqual(writes.map(versionOf))
    })
    expect(rowsIn(file).slice(10)).toMatchObject([
      { dictionary: null, size: noise.length },
      { dictionary: null, size: large.length },
    ])
  })

  it('is restored even if it is empty or not valid text', async () => {
    const file = await packedFile()
    const writes = [new Uint8Array(), Uint8Array.of(10), Uint8Array.of(255, 10, 10)].map((body, n) =>
      writeOf(observationOf(`odd${n}`), { body, compartments: observation(1).compartments }),
    )
    await withStore(file, async (store) => {
      await store.commit(writes, [])
      expect(await readAll(store, writes)).toEqual(writes.map(versionOf))
    })
  })
})

describe('A dictionary', () => {
  it('is used again after the store is reopened', async () => {
    const file = await packedFile()
    await withStore(file, (store) => store.commit(observations(10, 1), []))
    expect(rowsIn(file).at(-1)).toMatchObject({ dictionary: 1 })
    expect(dictionariesIn(file)).toEqual([{ dictionary: 1, type: 'Observation', size: SIZE }])
  })

  it('is followed by two more as the type grows; older versions stay readable', async () => {
    const file = newFile()
    const writes = observations(0, 2_200)
    const inParts = async (store: SqliteResourceStore) => {
      for (let from = 0; from < writes.length; from += 50) await store.commit(writes.slice(from, from + 50), [])
    }
    await withStore(file, inParts, 400)
    expect(dictionariesIn(file)).toHaveLength(3)
    const used = rowsIn(file).map(({ dictionary }) => dictionary)
    expect([...new Set(used)]).toEqual([null, 1, 2, 3])
    expect(used.indexOf(2)).toBeGreaterThan(50)
    expect(used.indexOf(3)).toBeGreaterThan(1_500)
    await withStore(
      file,
      async (store) => {
        for (const write of [writes[5]!, writes[100]!, writes[2_199]!]) expect(await store.current([write])).toEqual([versionOf(write)])
        await store.commit(observations(2_200, 100), [])
      },
      400,
    )
    expect(dictionariesIn(file)).toHaveLength(3)
    checkStoreFile(file)
  })

  it('is created again if the commit that created it failed', () => {
    const db = openForWriting(newFile())
    const log = new LogWriter(db, new KeyFilter(), SIZE)
    const commit = (...writes: readonly Write[]) => commitAll(log, [unpackCommit(packCommit(1, writes, [], 1))])
    const impossible = writeOf(patientKeyOf('impossible'), { lastUpdated: null as unknown as number })
    expect(commit(...observations(0, 10), impossible)).toMatchObject([{ failed: expect.any(String) }])
    expect(db.prepare('SELECT * FROM dictionary').all()).toEqual([])
    expect(commit(observation(1))).toEqual([{ number: 1 }])
    expect(commit(...observations(2, 12))).toEqual([{ number: 1 }])
    const rows = db
      .prepare('SELECT v.dictionary AS used, d.dictionary AS there FROM version v LEFT JOIN dictionary d USING (dictionary)')
      .all()
    expect(rows[0]).toEqual({ used: null, there: null })
    expect(rows.at(-1)).toEqual({ used: 1, there: 1 })
    db.close()
  })
})

describe('A changed file', () => {
  const changed = async (...changes: readonly string[]): Promise<string> => {
    const file = newFile()
    copyFileSync(await packedFile(), file)
    const db = new DatabaseSync(file)
    for (const change of changes) db.exec(change)
    db.close()
    return file
  }
  const spoilt = (table: string): string => `UPDATE ${table} SET bytes = CAST(replace(bytes, 'Height', 'Weight') AS BLOB)`
  const [plain, packed] = [observation(0), observation(9)]

  it.each([
    ['a dictionary', spoilt('dictionary')],
    ['the copy of a dictionary', spoilt('dictionary_copy')],
    ['one of the tables of dictionaries', 'DELETE FROM dictionary'],
  ])('uses the other copy, but allows no backup, after a change of %s', async (_, change) => {
    const file = await changed(change)
    await withStore(file, async (store) => {
      expect(await store.current([packed])).toEqual([versionOf(packed)])
      expect(await store.commit(observations(20, 3), [])).toEqual({ kind: 'committed' })
      expect(await readAll(store, observations(20, 3))).toEqual(observations(20, 3).map(versionOf))
    })
    expect(rowsIn(file).at(-1)).toMatchObject({ dictionary: 1 })
    await expect(backupStoreFile(file, `${file}.backup`)).rejects.toThrow(StoreFileError)
  })

  it.each([
    ['both copies of a dictionary are changed', [spoilt('dictionary'), spoilt('dictionary_copy')]],
    ['both copies of a dictionary are missing', ['DELETE FROM dictionary', 'DELETE FROM dictionary_copy']],
  ])('reports versions as damaged, serves the rest and accepts writes: %s', async (_, changes) => {
    const file = await changed(...changes)
    await withStore(file, async (store) => {
      await expect(store.current([packed])).rejects.toEqual(fault('store-damaged'))
      expect(await store.heads([packed])).toMatchObject([{ versionId: 1, damage: fault('store-damaged') }])
      expect(await store.current([plain])).toEqual([versionOf(plain)])
      expect(await store.commit(observations(20, 10), [])).toEqual({ kind: 'committed' })
      expect(await readAll(store, observations(20, 10))).toEqual(observations(20, 10).map(versionOf))
      await expect(store.current([packed])).rejects.toEqual(fault('store-damaged'))
    })
    await expect(backupStoreFile(file, `${file}.backup`)).rejects.toThrow('damaged')
    const feed = new SqliteChangeFeed(file)
    expect(feed.changes(0, 10).at(-1)!.version).toMatchObject({ id: 'o9', compartments: [], body: new Uint8Array() })
    feed.close()
  })

  it.each([
    ['the packed bytes', "UPDATE version SET body = x'00' WHERE id = 'o9'"],
    ['the last packed byte', "UPDATE version SET body = substr(body, 1, length(body) - 1) WHERE id = 'o9'"],
    ['the dictionary number', "UPDATE version SET dictionary = 7 WHERE id = 'o9'"],
    ['the dictionary number to none', "UPDATE version SET dictionary = NULL WHERE id = 'o9'"],
    ['the compartments of a packed version', "UPDATE version SET compartments = 'Patient/another' WHERE id = 'o9'"],
  ])('has a damaged version after a change of %s', async (_, change) => {
    await withStore(await changed(change), async (store) => {
      await expect(store.current([packed])).rejects.toEqual(fault('store-damaged'))
      expect(await store.current([observation(8)])).toEqual([versionOf(observation(8))])
    })
  })
})

describe('A store from before versions were packed', () => {
  it('opens unchanged and packs new versions; its format version then rises', async () => {
    const file = newFile()
    const before = await SqliteResourceStore.open({ file, dictionarySize: 1_000_000 })
    await before.commit(observations(0, 10), [])
    await before.close()
    sql(file, 'DROP TABLE dictionary')
    sql(file, 'DROP TABLE dictionary_copy')
    sql(file, 'ALTER TABLE version DROP COLUMN dictionary')
    sql(file, 'PRAGMA user_version = 5')
    checkStoreFile(file)
    await backupStoreFile(file, `${file}.backup`)
    await withStore(file, async (store) => {
      await store.commit(observations(10, 10), [])
      await store.commit([observation(0, { expected: 1 })], [])
      expect(await readAll(store, observations(1, 19))).toEqual(observations(1, 19).map(versionOf))
      expect(await store.versions([{ ...observationOf('o0'), versionId: 1 }])).toEqual([versionOf(observation(0))])
    })
    const used = rowsIn(file).map(({ dictionary }) => dictionary)
    expect([used[0], used.at(-1)]).toEqual([null, 1])
    expect(sql(file, 'PRAGMA user_version')).toEqual([{ user_version: 6 }])
    checkStoreFile(file)
  })
})
