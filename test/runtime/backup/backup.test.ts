/** Backups of all versions and their restore, between both stores, with each fault and each interruption. */
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { SqliteResourceStore } from '../../../lambdas/adapters/sqlite-store/resource-store.ts'
import type { ResourceVersion, ResourceWriter } from '../../../lambdas/ports/store/resource-store.ts'
import {
  type BackupObject,
  type BackupStore,
  decodeLine,
  digestOf,
  encodeLine,
  MANIFEST_KEY,
  type Manifest,
  putJson,
  readJson,
  START_KEY,
} from '../../../lambdas/runtime/backup/backup-format.ts'
import { type RestoreProgress, restoreBackup } from '../../../lambdas/runtime/backup/restore-backup.ts'
import { writeBackup } from '../../../lambdas/runtime/backup/write-backup.ts'
import { newFolder, runAtEnd } from '../../fixtures/at-end.ts'
import {
  commitAll,
  killedAt,
  memoryBackup,
  originOf,
  SAVED_AT,
  type StoreUnderTest,
  savedWrites,
  versionsIn,
} from '../../fixtures/backups.ts'
import { instantAt, resourceKeyOf, versionOf, writeOf } from '../../fixtures/versions.ts'

/** Small, so that a history goes over the end of an object. */
const OBJECT_BYTES = 700

async function newStore(): Promise<SqliteResourceStore> {
  const store = await SqliteResourceStore.open({ file: join(newFolder(), 'store.db') })
  runAtEnd(() => store.close())
  return store
}

async function filledStore(): Promise<SqliteResourceStore> {
  const store = await newStore()
  await commitAll(store, savedWrites())
  return store
}

/** A store that no test changes, and its backup. */
let saved: SqliteResourceStore
let whole: Manifest

beforeAll(async () => {
  saved = await filledStore()
  whole = await save(saved, memoryBackup())
})

const save = (source: StoreUnderTest, store: BackupStore, fields: Parameters<typeof originOf>[1] = {}) =>
  writeBackup({ origin: originOf(source, fields), store, objectBytes: OBJECT_BYTES })

const restore = (store: BackupStore, target: StoreUnderTest, progress?: RestoreProgress) =>
  restoreBackup({ store, target, name: 'the target', ...(progress === undefined ? {} : { progress }) })

/** Progress in memory. */
function newProgress(): RestoreProgress & { readonly rows: Map<string, number> } {
  const rows = new Map<string, number>()
  return {
    rows,
    read: async (backup) => rows.get(backup) ?? 0,
    write: async (backup, objects) => void rows.set(backup, objects),
    remove: async (backup) => void rows.delete(backup),
  }
}

describe('A backup of all versions', () => {
  it('restores each version byte for byte, with its number, time and method', async () => {
    const [source, target, store] = [saved, await newStore(), memoryBackup()]
    const manifest = await save(source, store)
    await restore(store, target)
    expect(await versionsIn(target)).toEqual(await versionsIn(source))
    expect(manifest.objects.length).toBeGreaterThan(10)
    expect(manifest.counts).toContainEqual({ tenant: 'default', type: 'Observation', versions: 4, resources: 4, deletions: 0 })
    // Three of the 12 patients have one version, three have two, three have three, and three have four. Each third version is a deletion.
    expect(manifest.counts).toContainEqual({ tenant: 'a tenant, "quoted"', type: 'Patient', versions: 30, resources: 12, deletions: 6 })
  })

  it('has a line of plain JSON for each version, unless a body has a line end', () => {
    const version = versionOf(writeOf(resourceKeyOf('t', 'Patient', '1'), { body: '{"resourceType":"Patient"}', made: 'create' }))
    expect(JSON.parse(encodeLine({ version, isLatest: true }).toString())).toEqual({
      ...{ tenant: 't', type: 'Patient', id: '1', versionId: 1, lastUpdated: instantAt(0), compartments: [], made: 'create' },
      ...{ isLatest: true, resource: { resourceType: 'Patient' } },
    })
    const odd = { ...version, body: Buffer.from('{\n"resourceType":"Patient"}') }
    const line = encodeLine({ version: odd, isLatest: false })
    expect([line.indexOf('\n'), Buffer.from(decodeLine(line.subarray(0, -1)).version.body)]).toEqual([line.length - 1, odd.body])
  })

  it('has no objects if the store is empty, and restores nothing', async () => {
    const [target, store] = [await newStore(), memoryBackup()]
    expect(await save(await newStore(), store)).toMatchObject({ objects: [], counts: [] })
    await restore(store, target)
    expect(await versionsIn(target)).toEqual([])
  })

  it('has the state of its instant, whatever is written meanwhile', async () => {
    const [source, target, store] = [await filledStore(), await newStore(), memoryBackup()]
    const before = await versionsIn(source)
    let n = 0
    const change = async (): Promise<void> => {
      const [head] = await source.current([resourceKeyOf('default', 'Patient', `p${n++ % 12}`)])
      const { versionId: expected, ...rest } = head!
      await commitAll(source, [
        { ...rest, expected, deleted: false, body: Buffer.from('{"resourceType":"Patient"}'), lastUpdated: SAVED_AT + n },
        writeOf(resourceKeyOf('default', 'Patient', `new${n}`), { body: { resourceType: 'Patient' }, lastUpdated: SAVED_AT + n }),
      ])
    }
    let writes = Promise.resolve()
    const onProgress = (): void => {
      writes = writes.then(change)
    }
    await writeBackup({ origin: originOf(source), store, objectBytes: OBJECT_BYTES, onProgress })
    await writes
    await restore(store, target)
    expect(await versionsIn(target)).toEqual(before)
    expect((await versionsIn(source)).length).toBeGreaterThan(before.length)
  })

  it('begins once no earlier write can appear any more', async () => {
    const [source, store] = [await filledStore(), memoryBackup()]
    let waits = 0
    const slow = Object.assign(Object.create(source) as StoreUnderTest, {
      tenants: () => source.tenants(),
      scan: (...args: Parameters<StoreUnderTest['scan']>) => source.scan(...args),
      versions: (...args: Parameters<StoreUnderTest['versions']>) => source.versions(...args),
      settled: async () => waits === 3,
    })
    const late = resourceKeyOf('default', 'Patient', 'late')
    const wait = async (): Promise<void> => {
      if (++waits === 2) await commitAll(source, [writeOf(late, { body: { resourceType: 'Patient' }, lastUpdated: SAVED_AT - 1 })])
    }
    const { counts } = await save(slow, store, { wait })
    expect([waits, counts.find(({ tenant, type }) => tenant === 'default' && type === 'Patient')?.resources]).toEqual([3, 13])
  })

  it('continues wherever it was interrupted, and has each version once', async () => {
    const store = memoryBackup()
    let kills = 0
    for (; (await store.get(MANIFEST_KEY)) === undefined; kills++)
      await save(saved, killedAt(store, 1 + (kills % 3), kills % 2 === 0)).catch(({ message }: Error) => expect(message).toBe('killed'))
    expect(kills).toBeGreaterThan(10)
    expect(await readJson(store, MANIFEST_KEY)).toEqual(whole)
  })

  it.each(Array.from({ length: 12 }, (_, i) => [Math.floor(i / 2) + 1, i % 2 === 1 ? 'after' : 'before'] as const))(
    'continues if it is killed at write %i, %s the write',
    async (number, when) => {
      const store = memoryBackup()
      await expect(save(saved, killedAt(store, number, when === 'after'))).rejects.toThrow('killed')
      expect(await save(saved, store)).toEqual(whole)
    },
  )

  it('continues within a page of a scan, and within the history of a resource', async () => {
    const [source, target, store] = [await newStore(), await newStore(), memoryBackup()]
    const keys = Array.from({ length: 450 }, (_, i) => resourceKeyOf('default', 'Patient', `p${i}`))
    for (const expected of [0, 1, 2]) {
      const writes = keys.map((key, i) =>
        writeOf(key, { expected, body: { resourceType: 'Patient', i }, lastUpdated: instantAt(expected) + i }),
      )
      expect(await source.commit(writes, [])).toEqual({ kind: 'committed' })
    }
    for (let kills = 0; (await store.get(MANIFEST_KEY)) === undefined; kills++) {
      expect(kills).toBeLessThan(100)
      await writeBackup({ origin: originOf(source), store: killedAt(store, 5), objectBytes: 10_000 }).catch(() => undefined)
    }
    await restore(store, target)
    expect(await versionsIn(target)).toEqual(await versionsIn(source))
  })

  it('starts again if its source cannot continue, and uses none of the earlier objects', async () => {
    const [source, store, target] = [await filledStore(), memoryBackup(), await newStore()]
    await expect(save(source, killedAt(store, 12))).rejects.toThrow('killed')
    await commitAll(source, [
      writeOf(resourceKeyOf('default', 'Account', 'a'), { body: { resourceType: 'Account' }, lastUpdated: SAVED_AT + 1 }),
    ])
    const manifest = await save(source, store, { newId: () => 'b2', canContinue: () => false, begin: async () => SAVED_AT + 1 })
    expect([manifest.id, (await readJson<Manifest>(store, START_KEY))?.id]).toEqual(['b2', 'b2'])
    await restore(store, target)
    expect(await versionsIn(target)).toEqual(await versionsIn(source))
  })

  it('can be restored if two began in one place at the same time', async () => {
    const [later, store, target] = [await filledStore(), memoryBackup(), await newStore()]
    await commitAll(later, [writeOf(resourceKeyOf('default', 'Account', 'a'), { body: { resourceType: 'Account' } })])
    // The second one begins while the first one prepares, and writes an object after the first one has ended.
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    const put: BackupStore['put'] = async (key, blob) => {
      if (key !== START_KEY) await ended
      await store.put(key, blob)
    }
    let second: Promise<unknown> | undefined
    const began = Promise.withResolvers<void>()
    const begin = async (): Promise<number> => {
      second = save(later, killedAt({ ...store, put }, 4), {
        newId: () => 'b2',
        async begin() {
          began.resolve()
          return SAVED_AT
        },
      })
      second.catch(() => undefined)
      await began.promise
      return SAVED_AT
    }
    expect((await save(saved, store, { begin })).id).toBe('b1')
    end()
    await expect(second).rejects.toThrow('killed')
    await restore(store, target)
    expect(await versionsIn(target)).toEqual(await versionsIn(saved))
  })

  it('replaces neither a complete backup nor an unfinished one of another source', async () => {
    const [source, store] = [saved, memoryBackup()]
    await expect(save(source, killedAt(store, 12))).rejects.toThrow('killed')
    await expect(save(source, store, { name: 'another' })).rejects.toThrow(
      's3://b/some/prefix/backup.json: belongs to an unfinished backup of a source: name another prefix (occupied)',
    )
    await save(source, store)
    await expect(save(source, store)).rejects.toThrow('s3://b/some/prefix/manifest.json: belongs to a complete backup')
  })
})

describe('A restore of all versions', () => {
  it('continues wherever it was interrupted, and repeats one object at most', async () => {
    const [source, target, store, progress] = [saved, await newStore(), memoryBackup(), newProgress()]
    const { objects } = await save(source, store)
    const interrupted = failingAfter(target)
    let [attempts, done] = [0, 0]
    for (; ; attempts++) {
      interrupted.left = 7
      const result = await restore(store, interrupted, progress).catch((error: Error) => error.message)
      if (typeof result !== 'string') break
      expect([result, attempts < 100]).toEqual(['killed', true])
      expect(progress.rows.get('b1') ?? 0).toBeGreaterThanOrEqual(done)
      done = progress.rows.get('b1') ?? 0
    }
    expect([attempts > 5, done > 5, progress.rows.size]).toEqual([true, true, 0])
    expect(await versionsIn(target)).toEqual(await versionsIn(source))
    // Without progress, a repeated restore finds every version in place.
    const { blobs } = store
    blobs.gets = 0
    await restore(store, target)
    expect([await versionsIn(target), blobs.gets]).toEqual([await versionsIn(source), objects.length + 1])
  })

  it('rejects a target with another version of a resource, and keeps it', async () => {
    const [target, store] = [await newStore(), memoryBackup()]
    await save(saved, store)
    const other = writeOf(resourceKeyOf('default', 'Patient', 'p3'), { body: { resourceType: 'Patient', id: 'p3' } })
    await commitAll(target, [other])
    await expect(restore(store, target)).rejects.toThrow(
      'Patient/p3 of tenant default: has other versions in the target: restore into a deployment without the resources of the backup (occupied)',
    )
    expect((await target.current([other]))[0]).toMatchObject({ versionId: 1, lastUpdated: other.lastUpdated })
  })

  const faults: readonly (readonly [
    title: string,
    message: RegExp,
    spoil: (store: BackupStore, third: BackupObject) => Promise<unknown>,
  ])[] = [
    ['a missing object', /00000003\.ndjson\.gz: does not exist, but the manifest names it \(missing\)/, removed],
    ['an object that was cut', /00000003\.ndjson\.gz: has another checksum than the manifest \(checksum\)/, cut],
    ['a version that is missing in an object', /00000003\.ndjson\.gz: \w+ of tenant .* in place of .* \(count\)/, shortened],
    ['an object that the manifest does not name', /manifest\.json: \w+ of tenant .* in place of .* \(count\)/, unnamed],
    ['a later format', /manifest\.json: has the unknown format 2 \(format\)/, (store) => changeManifest(store, () => ({ format: 2 }))],
    ['a manifest that is not JSON', /manifest\.json: is not JSON \(format\)/, (store) => putText(store, MANIFEST_KEY, '{"format":1,')],
  ]

  it.each(faults)('reports %s with its place', async (_, message, spoil) => {
    const [target, store] = [await newStore(), memoryBackup()]
    const { objects } = await save(saved, store)
    await spoil(store, objects[2]!)
    await expect(restore(store, target)).rejects.toThrow(message)
  })

  it('reports a backup without a manifest', async () => {
    const store = memoryBackup()
    await expect(save(saved, killedAt(store, 12))).rejects.toThrow('killed')
    await expect(restore(store, await newStore())).rejects.toThrow(
      /manifest\.json: does not exist: there is no backup, or it is unfinished/,
    )
  })
})

async function removed(store: BackupStore, { key }: BackupObject): Promise<void> {
  await (store as ReturnType<typeof memoryBackup>).blobs.remove(`some/prefix/${key}`)
}

const putText = (store: BackupStore, key: string, text: string | Uint8Array): Promise<void> =>
  store.put(key, { bytes: Buffer.from(text), contentType: 'x' })

async function cut(store: BackupStore, { key }: BackupObject): Promise<void> {
  const { bytes } = (await store.get(key))!
  await putText(store, key, bytes.subarray(0, -1))
}

async function changeManifest(store: BackupStore, change: (manifest: Manifest) => Partial<Manifest>): Promise<void> {
  const manifest = (await readJson<Manifest>(store, MANIFEST_KEY))!
  await putJson(store, MANIFEST_KEY, { ...manifest, ...change(manifest) })
}

/** The checksum fits. */
async function shortened(store: BackupStore, { key }: BackupObject): Promise<void> {
  const lines = gunzipSync((await store.get(key))!.bytes).toString()
  const bytes = gzipSync(lines.slice(lines.indexOf('\n') + 1))
  await putText(store, key, bytes)
  await changeManifest(store, ({ objects }) => ({
    objects: objects.map((each) => (each.key === key ? { ...each, sha256: digestOf(bytes) } : each)),
  }))
}

async function unnamed(store: BackupStore): Promise<void> {
  await changeManifest(store, ({ objects }) => ({ objects: objects.slice(0, -1) }))
}

/** Fails the commits after the next `left`, as a process that is killed: half of them after the commit. */
function failingAfter(store: SqliteResourceStore): StoreUnderTest & { left: number } {
  const under = {
    left: 0,
    async commit(...args: Parameters<ResourceWriter['commit']>) {
      if (under.left-- <= 0) throw new Error('killed')
      const result = await store.commit(...args)
      if (under.left === 0) throw new Error('killed')
      return result
    },
    versions: (keys: Parameters<StoreUnderTest['versions']>[0]): Promise<readonly (ResourceVersion | undefined)[]> => store.versions(keys),
  }
  return under as unknown as StoreUnderTest & { left: number }
}
