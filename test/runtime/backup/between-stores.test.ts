/** Versions that go from the embedded store to DynamoDB and back, and a backup of a table that is written meanwhile. */
import { join } from 'node:path'
import { afterAll, expect, it } from '@jest/globals'
import { DynamoDbRows } from '../../../lambdas/adapters/dynamodb/rows/rows.ts'
import { TableClient } from '../../../lambdas/adapters/dynamodb/table-client.ts'
import { SqliteResourceStore } from '../../../lambdas/adapters/sqlite-store/resource-store.ts'
import { MANIFEST_KEY, readJson } from '../../../lambdas/runtime/backup/backup-format.ts'
import { restoreBackup } from '../../../lambdas/runtime/backup/restore-backup.ts'
import { progressIn } from '../../../lambdas/runtime/backup/stage.ts'
import { writeBackup } from '../../../lambdas/runtime/backup/write-backup.ts'
import { newFolder, runAtEnd } from '../../fixtures/at-end.ts'
import { commitAll, killedAt, memoryBackup, originOf, SAVED_AT, savedWrites, versionsIn } from '../../fixtures/backups.ts'
import { runOnDynamo } from '../../fixtures/dynamodb/on-dynamo.ts'
import { TestTable } from '../../fixtures/dynamodb/store.ts'
import { incompressibleTextOf, resourceKeyOf, writeOf } from '../../fixtures/versions.ts'

await runOnDynamo((engine) => {
  afterAll(() => engine.stop())

  async function newStore(): Promise<SqliteResourceStore> {
    const store = await SqliteResourceStore.open({ file: join(newFolder(), 'store.db') })
    runAtEnd(() => store.close())
    return store
  }

  it('versions are the same after they went from SQLite to DynamoDB and back', async () => {
    const [source, back] = [await newStore(), await newStore()]
    const tables = [await TestTable.create(engine), await TestTable.create(engine)]
    // Index partitions of the tables differ, as those of two stages may.
    const [first, second] = tables.map((table, i) => table.store({ shards: () => 1 + 3 * i }))
    await commitAll(source, savedWrites())
    const expected = await versionsIn(source)
    const stores = [source, first!, second!, back]
    for (const [i, target] of stores.slice(1).entries()) {
      const store = memoryBackup()
      const manifest = await writeBackup({ origin: originOf(stores[i]!), store, objectBytes: 2_000 })
      await restoreBackup({ store, target, name: 'the target' })
      expect([await versionsIn(target), manifest.counts.length]).toEqual([expected, 4])
    }
    // Large bodies are in the bucket of the table that they were restored into.
    expect(tables.map(({ blobs }) => blobs.size)).toEqual([1, 1])
  })

  it('two restores at once into a table, and a later one, add each version once', async () => {
    const [source, table, store] = [await newStore(), await TestTable.create(engine), memoryBackup()]
    const compartments = ['Patient/2', 'Device/1', 'Patient/1']
    await commitAll(source, [...savedWrites(), writeOf(resourceKeyOf('default', 'Group', 'g'), { body: { a: 1 }, compartments })])
    await writeBackup({ origin: originOf(source), store, objectBytes: 2_000 })
    const restore = () => restoreBackup({ store, target: table.store(), name: 'the target' })
    await Promise.all([restore(), restore()])
    await restore()
    expect(await versionsIn(table.store())).toEqual(await versionsIn(source))
  })

  it('a backup of a table continues after each interruption, whatever is written meanwhile', async () => {
    const [table, back, store] = [await TestTable.create(engine), await newStore(), memoryBackup()]
    const source = table.store({ shards: () => 4 })
    await commitAll(source, savedWrites())
    const expected = await versionsIn(source)
    const whole = await writeBackup({ origin: originOf(source), store: memoryBackup(), objectBytes: 2_000 })
    for (let kills = 0; (await store.get(MANIFEST_KEY)) === undefined; kills++) {
      expect(kills).toBeLessThan(100)
      const killed = killedAt(store, 2 + (kills % 3), kills % 2 === 0)
      await writeBackup({ origin: originOf(source), store: killed, objectBytes: 2_000 }).catch(({ message }: Error) =>
        expect(message).toBe('killed'),
      )
      const key = resourceKeyOf('default', 'Patient', `p${kills % 12}`)
      const [head] = await source.current([key])
      const fields = { lastUpdated: SAVED_AT + 1 + kills, body: { resourceType: 'Patient' } }
      await commitAll(source, [writeOf(key, { ...fields, expected: head!.versionId }), writeOf({ ...key, id: `n${kills}` }, fields)])
    }
    expect(await readJson(store, MANIFEST_KEY)).toEqual(whole)
    await restoreBackup({ store, target: back, name: 'the target' })
    expect(await versionsIn(back)).toEqual(expected)
  })

  it('a restore into a table continues by its row there, which ends with the restore', async () => {
    const [source, table, store] = [await newStore(), await TestTable.create(engine), memoryBackup()]
    await commitAll(source, savedWrites())
    const { objects } = await writeBackup({ origin: originOf(source), store, objectBytes: 2_000 })
    const progress = progressIn(new DynamoDbRows(new TableClient(engine.client, table.name, { attempts: 3, patience: 60_000 })))
    const target = table.store()
    const name = 'the target'
    const last = objects.at(-1)!.key
    const whole = (await store.get(last))!
    await store.put(last, { ...whole, bytes: new Uint8Array() })
    await expect(restoreBackup({ store, target, name, progress })).rejects.toThrow(/\(checksum\)$/)
    await store.put(last, whole)
    store.blobs.gets = 0
    await restoreBackup({ store, target, name, progress })
    // The manifest and the last object.
    expect([store.blobs.gets, await progress.read('b1')]).toEqual([2, 0])
    expect(await versionsIn(target)).toEqual(await versionsIn(source))
  })

  it('a backup only reads the table', async () => {
    const table = await TestTable.create(engine)
    await commitAll(table.store(), savedWrites())
    const calls = new Set<string>()
    const send = (command: object, ...rest: readonly unknown[]): Promise<unknown> => {
      calls.add(command.constructor.name)
      return engine.client.send(command as never, ...(rest as []))
    }
    await writeBackup({ origin: originOf(table.store({ client: { send } as unknown as typeof engine.client })), store: memoryBackup() })
    expect([...calls].filter((name) => !/^(?:Get|BatchGet|Query)Command$/.test(name))).toEqual([])
    expect(calls.size).toBeGreaterThan(1)
  })

  it.each([1, 2])('a backup ends at a damaged version, and names it: version %i of 2', async (versionId) => {
    const [table, store] = [await TestTable.create(engine), memoryBackup()]
    const [source, key] = [table.store(), resourceKeyOf('default', 'Patient', 'p')]
    await commitAll(source, [
      writeOf({ ...key, id: 'other' }, { body: { resourceType: 'Patient' } }),
      ...[0, 1].map((expected) => writeOf(key, { expected, body: incompressibleTextOf(`${expected}`, 400_000) })),
    ])
    const bodies = [...table.blobs.keys()]
    table.blobs.delete(bodies[versionId - 1]!)
    await expect(writeBackup({ origin: originOf(source), store })).rejects.toThrow(
      `Version ${versionId} of Patient/p of tenant default cannot be saved: the blob of a body is missing (store-damaged)`,
    )
  })

  it('identifiers are found before the search index has the resource; of deleted resources none', async () => {
    const [source, table, store] = [await newStore(), await TestTable.create(engine), memoryBackup()]
    await commitAll(source, savedWrites())
    await writeBackup({ origin: originOf(source), store })
    const [reader, writer] = [table.store(), table.storeWithRows()]
    const target = { versions: reader.versions.bind(reader), commit: writer.commit.bind(writer) }
    await restoreBackup({ store, target, name: 'the target' })
    const rowsOf = async (id: string) =>
      (await table.identifierRows().carrying({ tenant: 'default', type: 'Patient' }, [{ value: id }], 10)).map(({ key }) => key.id)
    expect([await rowsOf('p3'), await rowsOf('p1'), await rowsOf('p2')]).toEqual([['p3'], ['p1'], []])
  })
})
