/** Versions in memory: what is answered is what the store would answer, and what is read again is only what is not kept. */
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { SqliteResourceStore } from '../../../lambdas/adapters/sqlite-store/resource-store.ts'
import { type RequestStore, versionCache } from '../../../lambdas/interactions/resources/version-cache.ts'
import type { ResourceVersion, VersionKey } from '../../../lambdas/ports/store/resource-store.ts'
import { randomOf } from '../../contracts/generated-search.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { deletionOf, patientKeyOf, resourceKeyOf, writeOf } from '../../fixtures/versions.ts'

const folder = newFolder()
let files = 0

/** A store of a file of its own; `read` is told of each version that is read from it. */
async function storeOf(read: (key: VersionKey) => void = () => undefined): Promise<{ store: SqliteResourceStore; told: RequestStore }> {
  const store = await SqliteResourceStore.open({ file: join(folder, `${++files}.db`) })
  const told: RequestStore = {
    current: (keys) => store.current(keys),
    history: (...asked) => store.history(...asked),
    commit: (writes, guards) => store.commit(writes, guards),
    versions(keys, room) {
      keys.forEach(read)
      return store.versions(keys, room)
    },
  }
  return { store, told }
}

/** Names what is read of a store that keeps `room` bytes. */
async function readingOf(room?: number) {
  const read: string[] = []
  const { store, told } = await storeOf(({ tenant, type, id, versionId }) => read.push(`${tenant}/${type}/${id}/${versionId}`))
  return { store, kept: versionCache(told, room), taken: () => read.splice(0) }
}

const a = patientKeyOf('a')
const versionOf = (key: typeof a, versionId = 1): VersionKey => ({ ...key, versionId })
const textOf = (version: ResourceVersion | undefined): string | undefined => version && Buffer.from(version.body).toString()

describe('A cached version', () => {
  it('is read again once superseded, and its successor is read once', async () => {
    const { store, kept, taken } = await readingOf()
    await kept.commit([writeOf(a), writeOf(patientKeyOf('b'))], [])
    const both = [versionOf(a), versionOf(patientKeyOf('b'))]
    await kept.versions(both)
    expect((await kept.versions(both)).map(textOf)).toEqual(['a 1', 'b 1'])
    expect(taken()).toEqual(['t/Patient/a/1', 't/Patient/b/1'])
    expect(await kept.commit([writeOf(a, { expected: 1 })], [])).toEqual({ kind: 'committed' })
    expect((await kept.versions([versionOf(a)])).map(textOf)).toEqual(['a 1'])
    expect(taken()).toEqual(['t/Patient/a/1'])
    for (let i = 0; i < 2; i++) expect((await kept.versions([versionOf(a, 2), ...both.slice(1)])).map(textOf)).toEqual(['a 2', 'b 1'])
    expect(taken()).toEqual(['t/Patient/a/2'])
    await store.close()
  })

  it('is removed after a failed commit with unknown outcome', async () => {
    const { store, kept, taken } = await readingOf()
    await kept.commit([writeOf(a)], [])
    await kept.versions([versionOf(a)])
    await store.close()
    await expect(kept.commit([writeOf(a, { expected: 1 })], [])).rejects.toThrow()
    await expect(kept.versions([versionOf(a)])).rejects.toThrow()
    expect(taken()).toEqual(['t/Patient/a/1', 't/Patient/a/1'])
  })

  it('is separate per tenant, type and version', async () => {
    const { store, kept } = await readingOf()
    const keys = ['t', 'u'].flatMap((tenant) => ['Patient', 'Group'].map((type) => resourceKeyOf(tenant, type, 'a')))
    for (const key of keys.slice(0, 3)) await kept.commit([writeOf(key, { body: `${key.tenant} ${key.type}` })], [])
    for (let i = 0; i < 2; i++) {
      const found = await kept.versions(keys.map((key) => versionOf(key)))
      expect(found.map(textOf)).toEqual(['t Patient', 't Group', 'u Patient', undefined])
      expect(await kept.versions(keys.map((key) => versionOf(key, 2)))).toEqual(keys.map(() => undefined))
    }
    await store.close()
  })

  it('is retained within the limit of bytes, and large versions displace no others', async () => {
    const { store, kept, taken } = await readingOf(8_000)
    const keys = ['a', 'b', 'c', 'd', 'e'].map((id) => patientKeyOf(id))
    await kept.commit(
      keys.map((key) => writeOf(key, { body: 'x'.repeat(key.id === 'e' ? 65_537 : 2_000) })),
      [],
    )
    const [first, second, third, fourth, large] = keys.map((key) => versionOf(key))
    await kept.versions([first!, second!, third!])
    await kept.versions([large!, large!])
    taken()
    await kept.versions([first!, second!, third!])
    expect(taken()).toEqual([])
    await kept.versions([large!, fourth!])
    expect(taken()).toEqual(['t/Patient/e/1', 't/Patient/d/1'])
    for (const key of [first!, second!, third!, fourth!]) await kept.versions([key])
    expect(taken()).not.toEqual([])
    await store.close()
  })
})

it('reads among random writes return the same as without the cache', async () => {
  for (let seed = 1; seed <= 3; seed++) {
    const random = randomOf(seed)
    const { store, told } = await storeOf()
    const kept = versionCache(told, 4_000)
    const keys = ['t', 'u'].flatMap((tenant) => ['a', 'b', 'c', 'd'].map((id) => patientKeyOf(id, tenant)))
    const heads = keys.map(() => 0)
    const write = async () => {
      const n = random.below(keys.length)
      // One in four expects a head that is not there.
      const expected = heads[n]! + (random.below(4) === 0 ? 1 : 0)
      const body = 'x'.repeat(random.below(1_000))
      const one = random.below(5) === 0 ? deletionOf(keys[n]!, { expected }) : writeOf(keys[n]!, { expected, body })
      const { kind } = await kept.commit([one], [])
      if (kind === 'committed') heads[n]!++
    }
    const read = async () => {
      const some = Array.from({ length: 1 + random.below(6) }, () => random.below(keys.length)).map((n) =>
        versionOf(keys[n]!, Math.max(1, heads[n]! + 1 - random.below(3))),
      )
      const room = random.below(2) === 0 ? undefined : 1 + random.below(2_500)
      expect(await kept.versions(some, room)).toEqual(await store.versions(some, room))
    }
    for (let i = 0; i < 100; i++) await (random.below(3) === 0 ? write() : read())
    await store.close()
  }
})
