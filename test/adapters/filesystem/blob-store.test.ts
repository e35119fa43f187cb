/** The filesystem blob store: the contract, and cases specific to a folder. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from '@jest/globals'
import { FilesystemBlobStore } from '../../../lambdas/adapters/filesystem/blob-store.ts'
import { replaceDurably } from '../../../lambdas/adapters/filesystem/durable-file.ts'
import { blobStoreContract } from '../../contracts/blob-store.contract.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { fault } from '../../fixtures/machine-fault.ts'
import { isProgramUsable, itRequiring } from '../../fixtures/needing.ts'

const root = newFolder()

blobStoreContract('files', async () => ({ store: new FilesystemBlobStore(join(root, 'contract')), close: async () => {} }))

describe('A folder of blobs', () => {
  const bytes = new TextEncoder().encode('content')

  it('is readable by the next process', async () => {
    const folder = join(root, 'next')
    await new FilesystemBlobStore(folder).put('a/b', { bytes, contentType: 'text/plain' })
    const parts = await new FilesystemBlobStore(folder).openParts('c', 'text/plain')
    const tag = await parts.writePart(1, bytes)
    const next = new FilesystemBlobStore(folder)
    await (await next.openParts('c', 'text/plain', parts.id)).complete([{ n: 1, tag }])
    for (const key of ['a/b', 'c']) expect((await next.get(key))?.bytes).toEqual(Buffer.from(bytes))
  })

  it('keeps only the old object if the new one could not be written', async () => {
    const folder = join(root, 'broken')
    await new FilesystemBlobStore(folder).put('a', { bytes, contentType: 'text/plain' })
    const [file] = readdirSync(join(folder, 'objects'))
    const writing = replaceDurably(join(folder, 'objects', file!), async (handle) => {
      await handle.writeFile('half')
      throw new Error('no space left')
    })
    await expect(writing).rejects.toThrow('no space left')
    expect(readdirSync(join(folder, 'objects'))).toEqual([file])
    expect((await new FilesystemBlobStore(folder).get('a'))?.bytes).toEqual(Buffer.from(bytes))
  })

  it.each(['ENOSPC', 'EDQUOT', 'EFBIG'])('throws disk-full for %s', async (code) => {
    const writing = replaceDurably(join(root, 'no-room', 'object'), async () => {
      throw Object.assign(new Error('write'), { code })
    })
    await expect(writing).rejects.toThrow(fault('disk-full'))
    expect(readdirSync(join(root, 'no-room'))).toEqual([])
  })

  it('does not list unfinished objects', async () => {
    const folder = join(root, 'left')
    const store = new FilesystemBlobStore(folder)
    await store.put('a', { bytes, contentType: 'text/plain' })
    await store.openParts('b', 'text/plain')
    const [begun, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const writing = replaceDurably(join(folder, 'objects', 'f'.repeat(64)), () => {
      begun.resolve()
      return left.promise
    })
    await begun.promise
    const found: string[] = []
    for await (const { key } of store.list('')) found.push(key)
    expect(found).toEqual(['a'])
    left.resolve()
    await writing
  })

  it('keeps no parts that are aborted, unused, or of a replaced object', async () => {
    const folder = join(root, 'parts')
    const store = new FilesystemBlobStore(folder)
    const left = () =>
      readdirSync(join(folder, 'parts'), { recursive: true, encoding: 'utf8' })
        .map((path) => path.replace(/^[0-9a-f-]{36}/, ''))
        .sort()
    const [done, undone] = [await store.openParts('a', 'text/plain'), await store.openParts('b', 'text/plain')]
    await done.writePart(1, bytes)
    await done.complete([{ n: 2, tag: await done.writePart(2, bytes) }])
    await undone.writePart(1, bytes)
    await undone.abort()
    expect(left()).toEqual(['', '/2', '/of'])
    await done.abort()
    await store.abortParts('')
    expect(left()).toEqual(['', '/2', '/of'])
    await store.put('a', { bytes, contentType: 'text/plain' })
    expect(left()).toEqual([])
  })

  it('copies no part on completion, and reads only the parts it needs', async () => {
    const folder = join(root, 'large')
    const store = new FilesystemBlobStore(folder)
    const parts = await store.openParts('a', 'text/plain')
    const part = Buffer.alloc(5 * 1024 * 1024, 'part')
    const tags: { readonly n: number; readonly tag: string }[] = []
    for (let n = 1; n <= 4; n++) tags.push({ n, tag: await parts.writePart(n, part) })
    const inodes = () => [1, 2, 3, 4].map((n) => statSync(join(folder, 'parts', parts.id, `${n}`)).ino)
    const before = inodes()
    await parts.complete(tags)
    const [object] = readdirSync(join(folder, 'objects'))
    expect([statSync(join(folder, 'objects', object!)).size < 300, inodes()]).toEqual([true, before])
    for (const n of [1, 2, 4]) rmSync(join(folder, 'parts', parts.id, `${n}`))
    const [from, to] = [part.length * 2 + 1_000, part.length * 2 + 1_049_576]
    expect(part.subarray(1_000, 1_049_576).equals((await store.get('a', [from, to]))!.bytes)).toBe(true)
    await expect(store.get('a', [0, 1])).rejects.toMatchObject({ fault: 'store-damaged', message: expect.stringContaining(object!) })
    truncateSync(join(folder, 'parts', parts.id, '3'), 1_000_000)
    const shorter = { fault: 'store-damaged', message: `${join(folder, 'parts', parts.id, '3')} is damaged: it is shorter than it was` }
    await expect(store.get('a', [from, to])).rejects.toMatchObject(shorter)
    await store.remove('a')
    expect([readdirSync(join(folder, 'objects')), readdirSync(join(folder, 'parts'))]).toEqual([[], []])
  })

  it('reads objects in the format of an earlier server', async () => {
    const folder = join(root, 'old')
    mkdirSync(join(folder, 'objects'), { recursive: true })
    const name = createHash('sha256').update('a/b').digest('hex')
    writeFileSync(join(folder, 'objects', name), '{"key":"a/b","contentType":"text/plain"}\ncontent\n')
    const store = new FilesystemBlobStore(folder)
    expect([`${(await store.get('a/b'))!.bytes}`, `${(await store.get('a/b', [3, 100]))!.bytes}`]).toEqual(['content\n', 'tent\n'])
    await store.remove('a/b')
    expect(readdirSync(join(folder, 'objects'))).toEqual([])
  })

  it('completes an object that a crashed process half completed, also twice at once', async () => {
    const folder = join(root, 'half')
    const store = new FilesystemBlobStore(folder)
    const parts = await store.openParts('a', 'text/plain')
    const tags = [{ n: 1, tag: await parts.writePart(1, bytes) }]
    renameSync(join(folder, 'parts', parts.id, 'begun'), join(folder, 'parts', parts.id, 'completing'))
    const others = [await store.openParts('a', 'text/plain', parts.id), await store.openParts('a', 'text/plain', parts.id)]
    await Promise.allSettled(others.map((other) => other.complete(tags)))
    expect((await store.get('a'))?.bytes).toEqual(Buffer.from(bytes))
    expect(readdirSync(join(folder, 'parts', parts.id)).sort()).toEqual(['1', 'of'])
  })

  it('keeps parts of objects completed before a crash, and removes parts without an object', async () => {
    const folder = join(root, 'ended')
    const store = new FilesystemBlobStore(folder)
    const made = async (key: string) => {
      const parts = await store.openParts(key, 'text/plain')
      await parts.complete([{ n: 1, tag: await parts.writePart(1, bytes) }])
      return join(folder, 'parts', parts.id)
    }
    const [said, renamed, orphan] = [await made('job/a'), await made('job/b'), await made('job/c')]
    writeFileSync(join(said, 'completing'), '')
    renameSync(renamed, `${renamed}.gone`)
    const object = join(folder, 'objects', createHash('sha256').update('job/c').digest('hex'))
    rmSync(object)
    const half = await store.openParts('job/d', 'text/plain')
    renameSync(join(folder, 'parts', half.id), join(folder, 'parts', `${half.id}.gone`))
    await store.abortParts('job/')
    for (const key of ['job/a', 'job/b']) expect((await store.get(key))?.bytes).toEqual(Buffer.from(bytes))
    expect(readdirSync(join(folder, 'parts')).sort()).toEqual([said, renamed].map((path) => basename(path)).sort())
    expect([readdirSync(said).sort(), existsSync(orphan)]).toEqual([['1', 'of'], false])
  })

  it('removes half-written files of a previous process after one day', async () => {
    const folder = join(root, 'swept')
    const store = new FilesystemBlobStore(folder)
    await store.put('a', { bytes, contentType: 'text/plain' })
    const [young, old, empty] = [
      'objects/0.1.unfinished',
      'objects/0.2.unfinished',
      `parts/${'0'.repeat(8)}-0000-4000-8000-${'0'.repeat(12)}`,
    ]
    for (const path of [young, old]) writeFileSync(join(folder, path), 'half')
    mkdirSync(join(folder, empty), { recursive: true })
    const before = new Date(Date.now() - 25 * 60 * 60 * 1000)
    for (const path of [old, empty]) utimesSync(join(folder, path), before, before)
    await store.abortParts('exports/1/')
    expect([young, old, empty].map((path) => existsSync(join(folder, path)))).toEqual([true, false, false])
    expect((await store.get('a'))?.bytes).toEqual(Buffer.from(bytes))
  })

  itRequiring('ulimit', isProgramUsable('sh', '-c', 'ulimit -S -f 1000'))(
    'refuses writes on a full disk and keeps nothing of them',
    async () => {
      const folder = join(root, 'full')
      const program = fileURLToPath(new URL('../../fixtures/crash/blobs-until-full.ts', import.meta.url))
      const limited = ['-c', 'ulimit -S -f 1000; exec "$@"', 'sh', process.execPath, program, folder]
      const { stdout } = spawnSync('sh', limited, { encoding: 'utf8' })
      expect(JSON.parse(stdout)).toEqual(['disk-full', 'disk-full', 'disk-full'])
      const left = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => path.replace(/[0-9a-f-]{36,}/, '*'))
      expect(left.sort()).toEqual(['objects', 'objects/*', 'parts', 'parts/*', 'parts/*/begun', 'parts/*/of'])
      const store = new FilesystemBlobStore(folder)
      expect((await store.get('a'))?.bytes).toEqual(Buffer.from('small'))
    },
  )

  it('continues parts only by a valid id', async () => {
    const store = new FilesystemBlobStore(join(root, 'ids'))
    await expect(store.openParts('a', 'text/plain', '../../etc')).rejects.toThrow(RangeError)
    const unknown = await store.openParts('a', 'text/plain', '00000000-0000-4000-8000-000000000000')
    await expect(unknown.writePart(1, bytes)).rejects.toThrow()
  })
})
