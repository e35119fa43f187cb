/** The blob store of the embedded home: the contract, and what only a folder can go through. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { FilesystemBlobStore } from '../../lambdas/adapters/filesystem/blob-store.ts'
import { replaceDurably } from '../../lambdas/adapters/filesystem/durable-file.ts'
import { blobStoreContract } from '../contracts/blob-store.contract.ts'
import { newFolder } from '../fixtures/at-end.ts'

const root = newFolder()

blobStoreContract('files', async () => ({ store: new FilesystemBlobStore(join(root, 'contract')), close: async () => {} }))

describe('A folder of blobs', () => {
  const bytes = new TextEncoder().encode('content')

  it('is read by the next process', async () => {
    const folder = join(root, 'next')
    await new FilesystemBlobStore(folder).put('a/b', { bytes, contentType: 'text/plain' })
    const parts = await new FilesystemBlobStore(folder).openParts('c', 'text/plain')
    const tag = await parts.writePart(1, bytes)
    const next = new FilesystemBlobStore(folder)
    await (await next.openParts('c', 'text/plain', parts.id)).complete([{ n: 1, tag }])
    for (const key of ['a/b', 'c']) expect((await next.get(key))?.bytes).toEqual(Buffer.from(bytes))
  })

  it('keeps the old object and nothing else when the new one could not be written whole', async () => {
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

  it('does not list what a process that ended left unfinished', async () => {
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

  it('leaves nothing of parts that are complete or aborted', async () => {
    const folder = join(root, 'parts')
    const store = new FilesystemBlobStore(folder)
    const [done, undone] = [await store.openParts('a', 'text/plain'), await store.openParts('b', 'text/plain')]
    await done.complete([{ n: 1, tag: await done.writePart(1, bytes) }])
    await undone.writePart(1, bytes)
    await undone.abort()
    expect(readdirSync(join(folder, 'parts'))).toEqual([])
  })

  it('continues only parts by their ids', async () => {
    const store = new FilesystemBlobStore(join(root, 'ids'))
    await expect(store.openParts('a', 'text/plain', '../../etc')).rejects.toThrow(RangeError)
    const unknown = await store.openParts('a', 'text/plain', '00000000-0000-4000-8000-000000000000')
    await expect(unknown.writePart(1, bytes)).rejects.toThrow()
  })
})
