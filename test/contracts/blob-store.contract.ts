/** What lambdas/ports/blobs/blob-store.ts promises, as tests: every adapter runs this suite. Each test works under a prefix of its own. */
import { createHash, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Blob, BlobInfo, BlobParts, BlobStore } from '../../lambdas/ports/blobs/blob-store.ts'

export type BlobStoreUnderTest = {
  readonly store: BlobStore
  readonly close: () => Promise<void>
  /** Whether the engine finds unfinished objects by the beginning of their keys; absent: it does. */
  readonly listsUploads?: boolean
}

/** Every part of an object but the last has at least so many bytes. */
const SMALLEST_PART = 5 * 1024 * 1024

export function blobStoreContract(name: string, create: () => Promise<BlobStoreUnderTest>): void {
  let store: BlobStore
  let close = async () => {}
  let listsUploads = true
  beforeAll(async () => {
    const created = await create()
    store = created.store
    close = created.close
    listsUploads = created.listsUploads ?? true
  })
  afterAll(() => close())

  const listed = async (prefix: string, after?: string): Promise<readonly BlobInfo[]> => {
    const found: BlobInfo[] = []
    for await (const info of store.list(prefix, after)) found.push(info)
    return found
  }
  const unfinishedUnder = async (prefix: string, endings: readonly string[]): Promise<readonly string[]> => {
    const found: string[] = []
    for (const ending of listsUploads ? [''] : endings) for await (const key of store.unfinished(prefix + ending)) found.push(key)
    return found
  }
  /** Some engines list uploads of a key only by the whole of it. */
  const abortedUnder = async (prefix: string, endings: readonly string[]): Promise<void> => {
    await store.abortParts(prefix)
    if (!listsUploads) for (const ending of endings) await store.abortParts(prefix + ending)
  }
  const keysUnder = async (prefix: string, after?: string): Promise<readonly string[]> =>
    (await listed(prefix, after)).map(({ key }) => key)

  describe(`${name}: objects`, () => {
    it('are read byte for byte, with their content type', async () => {
      const prefix = newPrefix()
      const bodies = [new Uint8Array(), Uint8Array.of(0), Uint8Array.from({ length: 256 }, (_, n) => n), noise(1_000_000)]
      for (const [n, bytes] of bodies.entries()) {
        const blob = { bytes, contentType: n % 2 === 0 ? 'application/fhir+ndjson' : 'text/plain; charset=utf-8' }
        await store.put(`${prefix}/${n}`, blob)
        expect(isSame(await store.get(`${prefix}/${n}`), blob)).toBe(true)
      }
    })

    it('are undefined before put and after remove', async () => {
      const key = `${newPrefix()}/a`
      expect(await store.get(key)).toBeUndefined()
      expect(await store.get(key, [0, 5])).toBeUndefined()
      await store.put(key, text('here'))
      await store.remove(key)
      expect(await store.get(key)).toBeUndefined()
    })

    it('are removed repeatedly without error', async () => {
      const key = `${newPrefix()}/a`
      await store.remove(key)
      await store.put(key, text('here'))
      await store.remove(key)
      await store.remove(key)
      expect(await keysUnder(key)).toEqual([])
    })

    it('are replaced by a second put, longer or shorter, content type included', async () => {
      const key = `${newPrefix()}/a`
      for (const content of ['first', 'the second, longer', '3']) {
        const blob = { ...text(content), contentType: `text/x-${content.length}` }
        await store.put(key, blob)
        expect(isSame(await store.get(key), blob)).toBe(true)
      }
    })

    it('are never visible in part during a replacement', async () => {
      const key = `${newPrefix()}/a`
      const blobs = [1, 2, 3].map((n) => ({ bytes: new Uint8Array(100_000 * n).fill(n), contentType: `text/x-${n}` }))
      await store.put(key, blobs[0]!)
      const writing = (async () => {
        for (let n = 1; n < 10; n++) await store.put(key, blobs[n % 3]!)
      })()
      const seen = await Promise.all([...Array(20).keys()].map(() => store.get(key)))
      await writing
      expect(seen.map((blob) => blobs.some((whole) => isSame(blob, whole)))).toEqual(seen.map(() => true))
      expect(isSame(await store.get(key), blobs[0]!)).toBe(true)
    })

    it('are read in ranges, which are cut at the end', async () => {
      const key = `${newPrefix()}/digits`
      await store.put(key, text('0123456789'))
      const read = async (from: number, to: number) => textOf(await store.get(key, [from, to]))
      expect(await read(0, 10)).toBe('0123456789')
      expect(await read(3, 7)).toBe('3456')
      expect(await read(9, 10)).toBe('9')
      expect(await read(8, 1_000_000)).toBe('89')
      expect(await read(10, 12)).toBe('')
      expect(await read(400, 500)).toBe('')
      expect(await read(4, 4)).toBe('')
      expect((await store.get(key, [400, 500]))?.contentType).toBe('text/plain')
    })
  })

  describe(`${name}: keys`, () => {
    it('are distinct for every allowed character, case and length', async () => {
      const prefix = newPrefix()
      const endings = ['a', 'A', 'b/c', 'B/c', 'b/C', 'a.b', 'a~b', 'a_b', 'a-b', '...', '~', '0', 'x'.repeat(200), `${'y/'.repeat(300)}z`]
      const keys = endings.map((ending) => `${prefix}/${ending}`)
      await Promise.all(keys.map((key) => store.put(key, text(key))))
      expect(await Promise.all(keys.map(async (key) => textOf(await store.get(key))))).toEqual(keys)
      expect(await keysUnder(prefix)).toEqual(keys.toSorted())
    })

    it('can be prefixes of other keys', async () => {
      const prefix = newPrefix()
      const keys = ['a', 'a/b', 'a/b/c'].map((ending) => `${prefix}/${ending}`)
      for (const key of keys) await store.put(key, text(key))
      expect(await Promise.all(keys.map(async (key) => textOf(await store.get(key))))).toEqual(keys)
    })

    for (const key of ['', '/', '/a', 'a/', 'a//b', '.', '..', 'a/../b', 'a/./b', 'ä', 'a b', 'a\\b', 'a%2e', 'a\0', 'x'.repeat(901)])
      it(`are rejected unless plain segments: ${JSON.stringify(key.slice(0, 12))}`, async () => {
        await expect(store.put(key, text('x'))).rejects.toThrow(RangeError)
        await expect(store.get(key)).rejects.toThrow(RangeError)
        await expect(store.remove(key)).rejects.toThrow(RangeError)
        await expect(store.openParts(key, 'text/plain')).rejects.toThrow(RangeError)
      })
  })

  describe(`${name}: listing`, () => {
    it('returns the time of writing, to a second', async () => {
      const prefix = newPrefix()
      const before = Date.now()
      await store.put(`${prefix}/a`, text('a'))
      const [info] = await listed(prefix)
      expect(info!.written).toBeGreaterThanOrEqual(before - 2_000)
      expect(info!.written).toBeLessThanOrEqual(Date.now() + 2_000)
    })

    it('returns keys and sizes under a prefix in ascending order, and no others', async () => {
      const prefix = newPrefix()
      const names = ['b', 'a/2', 'a/10', 'a-1', 'a.1', 'A', 'ab']
      await Promise.all(names.map((ending) => store.put(`${prefix}/${ending}`, text(ending))))
      expect(await listed(`${prefix}/`)).toEqual(
        names.toSorted().map((ending) => ({ key: `${prefix}/${ending}`, size: ending.length, written: expect.any(Number) })),
      )
      expect(await keysUnder(`${prefix}/a`)).toEqual(['a-1', 'a.1', 'a/10', 'a/2', 'ab'].map((ending) => `${prefix}/${ending}`))
      expect(await keysUnder(`${prefix}/a/`)).toEqual([`${prefix}/a/10`, `${prefix}/a/2`])
      expect(await keysUnder(`${prefix}/c`)).toEqual([])
    })

    it('continues over pages of a thousand', async () => {
      const prefix = newPrefix()
      const keys = [...Array(1_050).keys()].map((n) => `${prefix}/${String(n).padStart(4, '0')}`)
      for (let n = 0; n < keys.length; n += 50) await Promise.all(keys.slice(n, n + 50).map((key) => store.put(key, text(''))))
      expect(await keysUnder(prefix)).toEqual(keys)
      expect(await keysUnder(prefix, keys[19])).toEqual(keys.slice(20))
    })

    it('begins after a key, whether it exists or not, and whether it has the prefix or not', async () => {
      const prefix = newPrefix()
      const keys = ['a/1', 'a/2', 'a/3', 'b/1'].map((ending) => `${prefix}/${ending}`)
      for (const key of keys) await store.put(key, text(key))
      const under = (after: string) => keysUnder(`${prefix}/a/`, after)
      expect(await under(keys[0]!)).toEqual(keys.slice(1, 3))
      expect(await under(`${prefix}/a/15`)).toEqual(keys.slice(1, 3))
      for (const before of ['', `${prefix}/`, `${prefix}/A`]) expect(await under(before)).toEqual(keys.slice(0, 3))
      for (const behind of [keys[2]!, keys[3]!, `${prefix}/b`]) expect(await under(behind)).toEqual([])
    })
  })

  describe(`${name}: objects in parts`, () => {
    const [first, second] = [noise(SMALLEST_PART), noise(SMALLEST_PART + 12_345)]

    const written = async (parts: BlobParts, bytes: readonly (readonly [number, Uint8Array])[]) => {
      const tags: { readonly n: number; readonly tag: string }[] = []
      for (const [n, part] of bytes) tags.push({ n, tag: await parts.writePart(n, part) })
      return tags
    }

    it('are joined by part number, in any order of writing, gaps allowed', async () => {
      const key = `${newPrefix()}/joined`
      const parts = await store.openParts(key, 'application/fhir+ndjson')
      const tags = await written(parts, [
        [9_000, text('the end').bytes],
        [7, second],
        [2, first],
      ])
      expect(await store.get(key)).toBeUndefined()
      expect(await keysUnder(key)).toEqual([])
      await parts.complete(tags.toReversed())
      const bytes = Buffer.concat([first, second, text('the end').bytes])
      expect(isSame(await store.get(key), { bytes, contentType: 'application/fhir+ndjson' })).toBe(true)
      expect(await listed(key)).toEqual([{ key, size: bytes.length, written: expect.any(Number) }])
      expect(textOf(await store.get(key, [bytes.length - 3, bytes.length]))).toBe('end')
    })

    it('use the last upload of each number, also from another process', async () => {
      const key = `${newPrefix()}/retried`
      const parts = await store.openParts(key, 'text/plain')
      await parts.writePart(1, second)
      const again = await store.openParts(key, 'text/plain', parts.id)
      expect(again.id).toBe(parts.id)
      const tags = await written(again, [
        [1, first],
        [2, text('tail').bytes],
      ])
      await again.complete(tags)
      expect(isSame(await store.get(key), { bytes: Buffer.concat([first, text('tail').bytes]), contentType: 'text/plain' })).toBe(true)
    })

    it('can be completed without some of their parts', async () => {
      const key = `${newPrefix()}/some`
      const parts = await store.openParts(key, 'text/plain')
      const tags = await written(parts, [
        [1, text('one').bytes],
        [2, text('two').bytes],
      ])
      await parts.complete(tags.slice(1))
      expect(textOf(await store.get(key))).toBe('two')
    })

    it('reject a wrong tag, and can then be completed with the right one', async () => {
      const key = `${newPrefix()}/tags`
      const parts = await store.openParts(key, 'text/plain')
      const [old] = await written(parts, [[1, text('old').bytes]])
      const [current] = await written(parts, [[1, text('current').bytes]])
      await expect(parts.complete([old!])).rejects.toThrow()
      await expect(parts.complete([current!, { n: 2, tag: current!.tag }])).rejects.toThrow()
      await expect(parts.complete([])).rejects.toThrow()
      expect(await store.get(key)).toBeUndefined()
      await parts.complete([current!])
      expect(textOf(await store.get(key))).toBe('current')
    })

    it('reject a small part before the last', async () => {
      const key = `${newPrefix()}/small`
      const parts = await store.openParts(key, 'text/plain')
      const tags = await written(parts, [
        [1, text('small').bytes],
        [2, text('last').bytes],
      ])
      await expect(parts.complete(tags)).rejects.toThrow()
      expect(await store.get(key)).toBeUndefined()
    })

    it('replace an object only when they are complete', async () => {
      const key = `${newPrefix()}/replaced`
      await store.put(key, text('old'))
      const parts = await store.openParts(key, 'text/x-new')
      const tags = await written(parts, [[1, text('new').bytes]])
      expect(textOf(await store.get(key))).toBe('old')
      await parts.complete(tags)
      expect(isSame(await store.get(key), { ...text('new'), contentType: 'text/x-new' })).toBe(true)
    })

    it('are discarded by abort, which is idempotent', async () => {
      const key = `${newPrefix()}/aborted`
      const parts = await store.openParts(key, 'text/plain')
      const tags = await written(parts, [[1, text('gone').bytes]])
      await parts.abort()
      await parts.abort()
      await expect(parts.complete(tags)).rejects.toThrow()
      await expect(parts.writePart(2, text('late').bytes)).rejects.toThrow()
      expect(await store.get(key)).toBeUndefined()
    })

    it('accept no parts after completion', async () => {
      const key = `${newPrefix()}/over`
      const parts = await store.openParts(key, 'text/plain')
      const tags = await written(parts, [[1, text('done').bytes]])
      await parts.complete(tags)
      await expect(parts.writePart(2, text('late').bytes)).rejects.toThrow()
      await parts.abort()
      expect(textOf(await store.get(key))).toBe('done')
    })

    it('are aborted by key prefix, whichever process opened them', async () => {
      const prefix = newPrefix()
      const open = async (ending: string) => {
        const parts = await store.openParts(`${prefix}/${ending}`, 'text/plain')
        const tag = await parts.writePart(1, text(ending).bytes)
        return { parts, complete: () => parts.complete([{ n: 1, tag }]) }
      }
      const [mine, again, beside, empty] = [await open('job/a'), await open('job/a'), await open('job2/a'), await open('job/deep/er')]
      const done = await open('job/done')
      await done.complete()
      await store.put(`${prefix}/job/whole`, text('whole'))
      expect(await unfinishedUnder(`${prefix}/job`, ['/a', '/deep/er', '/done', '/whole', '2/a'])).toEqual(
        ['job/a', 'job/deep/er', 'job2/a'].map((ending) => `${prefix}/${ending}`),
      )
      await abortedUnder(`${prefix}/job/`, ['a', 'deep/er', 'done', 'whole'])
      for (const { parts, complete } of [mine, again, empty]) {
        await expect(complete()).rejects.toThrow()
        await expect(parts.writePart(2, text('late').bytes)).rejects.toThrow()
        await parts.abort()
      }
      await beside.complete()
      expect(await keysUnder(prefix)).toEqual(['job/done', 'job/whole', 'job2/a'].map((ending) => `${prefix}/${ending}`))
      expect(await Promise.all(['job/done', 'job2/a'].map(async (ending) => textOf(await store.get(`${prefix}/${ending}`))))).toEqual([
        'job/done',
        'job2/a',
      ])
      expect(await unfinishedUnder(prefix, ['/job/a', '/job/deep/er', '/job/done', '/job2/a'])).toEqual([])
      await store.abortParts(`${newPrefix()}/`)
    })

    it('are removed or replaced with their object', async () => {
      const key = `${newPrefix()}/again`
      const make = async (bytes: Uint8Array) => {
        const parts = await store.openParts(key, 'text/plain')
        await parts.complete([{ n: 3, tag: await parts.writePart(3, bytes) }])
      }
      await make(first)
      await store.remove(key)
      expect([await store.get(key), await keysUnder(key)]).toEqual([undefined, []])
      await make(first)
      await make(text('second').bytes)
      expect(textOf(await store.get(key))).toBe('second')
      await store.put(key, text('third'))
      expect(textOf(await store.get(key))).toBe('third')
      await make(text('fourth').bytes)
      expect([textOf(await store.get(key, [1, 4])), await keysUnder(key)]).toEqual(['our', [key]])
    })

    it('are read in ranges across parts', async () => {
      const key = `${newPrefix()}/ranges`
      const parts = await store.openParts(key, 'text/plain')
      const tags = await written(parts, [
        [1, first],
        [2, second],
        [3, text('tail').bytes],
      ])
      await parts.complete(tags)
      const whole = Buffer.concat([first, second, text('tail').bytes])
      const [a, b] = [first.length, first.length + second.length]
      const ranges = [
        [0, 1],
        [a - 1, a],
        [a, a + 1],
        [a - 3, a + 3],
        [1, b + 1],
        [b, b + 9],
        [a - 1, b + 2],
        [b + 4, b + 5],
        [7, 7],
      ] as const
      for (const [from, to] of ranges)
        expect(isSame(await store.get(key, [from, to]), { bytes: whole.subarray(from, to), contentType: 'text/plain' })).toBe(true)
    })

    it('have part numbers from 1 to 10,000', async () => {
      const parts = await store.openParts(`${newPrefix()}/numbers`, 'text/plain')
      for (const n of [0, -1, 1.5, 10_001, Number.NaN]) await expect(parts.writePart(n, text('x').bytes)).rejects.toThrow(RangeError)
      await parts.complete(await written(parts, [[10_000, text('x').bytes]]))
    })
  })
}

const newPrefix = (): string => `test/${randomUUID()}`

const text = (content: string): Blob => ({ bytes: new TextEncoder().encode(content), contentType: 'text/plain' })

const textOf = (blob: Blob | undefined): string | undefined => blob && new TextDecoder().decode(blob.bytes)

const isSame = (a: Blob | undefined, b: Blob): boolean =>
  a !== undefined && a.contentType === b.contentType && Buffer.compare(a.bytes, b.bytes) === 0

/** Bytes that do not compress. */
const noise = (length: number): Uint8Array => createHash('shake256', { outputLength: length }).update(`${length}`).digest()
