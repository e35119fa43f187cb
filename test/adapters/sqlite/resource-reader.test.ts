/** A reader on its own connection, while the keys of new versions are merged all the time. */
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { SqliteResourceReader } from '../../../lambdas/adapters/sqlite-store/resource-reader.ts'
import { SqliteResourceStore } from '../../../lambdas/adapters/sqlite-store/resource-store.ts'
import { resourceStoreContract } from '../../contracts/resource-store.contract.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { damageBody } from '../../fixtures/damaged-body.ts'
import { waitOneTurn } from '../../fixtures/turns.ts'
import { writesOf } from '../../fixtures/versions.ts'

const folder = newFolder()

let files = 0
const newFile = (): string => join(folder, `${++files}.db`)

resourceStoreContract("A reader of SQLite on another connection than the writer's, whose keys are taken over all the time", async () => {
  const file = newFile()
  const store = await SqliteResourceStore.open({ file, mostRecent: 1 })
  const reader = new SqliteResourceReader(file)
  const close = async () => {
    reader.close()
    await store.close()
  }
  return { reader, writer: store, close, damage: async (key) => damageBody(file, key) }
})

it('A scan on another connection finds each resource once as of its instant, during merges', async () => {
  const file = newFile()
  const store = await SqliteResourceStore.open({ file, mostRecent: 20 })
  const ids = Array.from({ length: 60 }, (_, i) => `r${i}`)
  const at = async (version: number) => {
    const { kind } = await store.commit(
      writesOf(ids, version - 1).map((write) => ({ ...write, lastUpdated: 1_000 * version })),
      [],
    )
    expect(kind).toBe('committed')
  }
  await at(1)
  const reader = new SqliteResourceReader(file)
  const racing = (async () => {
    for (let version = 2; version < 40; version++) await at(version)
  })()
  const found: string[][] = []
  for (let isDone = false; !isDone; ) {
    const seen: string[] = []
    for await (const { versions } of reader.scan({ tenant: 't', type: 'Patient', asOf: 1_500, limit: 7 })) {
      seen.push(...versions.map(({ id, versionId }) => `${id}/${versionId}`))
      isDone = await Promise.race([racing.then(() => true), waitOneTurn().then(() => false)])
    }
    found.push(seen.sort())
  }
  expect(found.length).toBeGreaterThan(1)
  for (const each of found) expect(each).toEqual(ids.map((id) => `${id}/1`).sort())
  reader.close()
  await store.close()
})
