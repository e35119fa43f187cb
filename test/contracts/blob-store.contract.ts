/** What lambdas/ports/blob-store.ts promises, as tests: every adapter runs this suite. */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import type { BlobInfo, BlobStore } from '../../lambdas/ports/blob-store.ts'

const MiB = 1024 * 1024

export function blobStoreContract(name: string, create: () => Promise<BlobStore>): void {
  const store = create()
  const bytes = (length: number, from = 0): Uint8Array => Uint8Array.from({ length }, (_, i) => (i * 7 + from) % 256)
  const blob = (length: number) => ({ bytes: bytes(length), contentType: 'application/fhir+ndjson' })
  const listed = async (prefix: string): Promise<BlobInfo[]> => {
    const found: BlobInfo[] = []
    for await (const info of (await store).list(prefix)) found.push(info)
    return found
  }

  describe(`${name}: objects`, () => {
    it.each([0, 1, 100_000])('of %i bytes come back byte for byte, with their type', async (length) => {
      const key = `a/${randomUUID()}`
      await (await store).put(key, blob(length))
      expect(await (await store).get(key)).toEqual(blob(length))
    })
    it('are undefined when they never were, or were removed', async () => {
      const key = `a/${randomUUID()}`
      expect(await (await store).get(key)).toBeUndefined()
      await (await store).put(key, blob(3))
      await (await store).remove(key)
      await (await store).remove(key)
      expect(await (await store).get(key)).toBeUndefined()
    })
    it('are replaced by a second put', async () => {
      const key = `a/${randomUUID()}`
      await (await store).put(key, blob(300))
      await (await store).put(key, blob(2))
      expect((await (await store).get(key))!.bytes).toEqual(bytes(2))
    })
    it('are read in ranges, cut at their end', async () => {
      const key = `a/${randomUUID()}`
      await (await store).put(key, blob(100))
      const range = async (from: number, to: number) => (await (await store).get(key, [from, to]))!.bytes
      expect(await range(10, 20)).toEqual(bytes(100).subarray(10, 20))
      expect(await range(90, 1000)).toEqual(bytes(100).subarray(90))
      expect(await range(5, 5)).toEqual(new Uint8Array())
      expect(await range(100, 200)).toEqual(new Uint8Array())
    })
    it('are seen whole or not at all while they are replaced', async () => {
      const key = `a/${randomUUID()}`
      const contents = [new Uint8Array(50_000).fill(1), new Uint8Array(80_000).fill(2)]
      await (await store).put(key, { bytes: contents[0]!, contentType: 'a/b' })
      let done = false
      const writing = (async () => {
        for (let i = 0; i < 20; i++) await (await store).put(key, { bytes: contents[i % 2]!, contentType: 'a/b' })
        done = true
      })()
      while (!done) {
        const { bytes: seen } = (await (await store).get(key))!
        expect([50_000, 80_000]).toContain(seen.length)
        expect(new Set(seen).size).toBe(1)
      }
      await writing
    })
    it('live side by side under keys that begin alike', async () => {
      const top = randomUUID()
      for (const key of [`${top}/a`, `${top}/a/b`, `${top}/a.b`]) await (await store).put(key, blob(key.length))
      for (const key of [`${top}/a`, `${top}/a/b`, `${top}/a.b`]) expect((await (await store).get(key))!.bytes.length).toBe(key.length)
    })
  })

  it(`${name}: lists keys with a prefix in order, with their sizes`, async () => {
    const top = randomUUID()
    const keys = ['b', 'a/2', 'a/10', 'a-', 'Z', 'a'].map((key) => `${top}/${key}`)
    for (const [i, key] of keys.entries()) await (await store).put(key, blob(i))
    expect(await listed(`${top}/`)).toEqual([...keys].sort().map((key) => ({ key, size: keys.indexOf(key) })))
    expect((await listed(`${top}/a/`)).map(({ key }) => key)).toEqual([`${top}/a/10`, `${top}/a/2`])
    expect(await listed(`${top}/none`)).toEqual([])
  })

  it.each(['', '/a', 'a/', 'a//b', '../a', 'a/../b', '.', 'a b', 'ä', 'a\\b', 'x'.repeat(901)])(
    `${name}: refuses the key %j`,
    async (key) => {
      await expect((await store).put(key, blob(1))).rejects.toThrow(RangeError)
      await expect((await store).get(key)).rejects.toThrow(RangeError)
    },
  )

  describe(`${name}: parts`, () => {
    it('in any order, some written twice, by several processes, become one object when they are completed', async () => {
      const key = `p/${randomUUID()}`
      const first = await (await store).openParts(key, 'application/fhir+ndjson')
      const second = await (await store).openParts(key, 'application/fhir+ndjson', first.id)
      const tags: { n: number; tag: string }[] = []
      tags.push({ n: 30, tag: await second.writePart(30, bytes(10, 3)) })
      await first.writePart(2, bytes(5 * MiB, 9))
      tags.push({ n: 2, tag: await second.writePart(2, bytes(5 * MiB, 2)) })
      tags.push({ n: 7, tag: await first.writePart(7, bytes(6 * MiB, 1)) })
      expect(await (await store).get(key)).toBeUndefined()
      expect(await listed(key)).toEqual([])
      await first.complete(tags)
      const { bytes: whole, contentType } = (await (await store).get(key))!
      expect([whole.length, contentType]).toEqual([11 * MiB + 10, 'application/fhir+ndjson'])
      expect(Buffer.compare(whole, Buffer.concat([bytes(5 * MiB, 2), bytes(6 * MiB, 1), bytes(10, 3)]))).toBe(0)
    })
    it('that are too small, or carry a tag of a part since replaced, are refused and stay', async () => {
      const key = `p/${randomUUID()}`
      const parts = await (await store).openParts(key, 'a/b')
      const small = { n: 1, tag: await parts.writePart(1, bytes(100)) }
      const last = { n: 2, tag: await parts.writePart(2, bytes(100)) }
      await expect(parts.complete([small, last])).rejects.toThrow()
      const large = { n: 1, tag: await parts.writePart(1, bytes(5 * MiB)) }
      await expect(parts.complete([small, last])).rejects.toThrow()
      await parts.complete([last, large])
      expect((await (await store).get(key))!.bytes.length).toBe(5 * MiB + 100)
    })
    it('have numbers from 1 to 10,000', async () => {
      const parts = await (await store).openParts(`p/${randomUUID()}`, 'a/b')
      for (const n of [0, -1, 1.5, 10_001]) await expect(parts.writePart(n, bytes(1))).rejects.toThrow(RangeError)
      await parts.abort()
    })
    it('are gone once aborted, as often as one likes', async () => {
      const key = `p/${randomUUID()}`
      const parts = await (await store).openParts(key, 'a/b')
      const tag = await parts.writePart(1, bytes(10))
      await parts.abort()
      await parts.abort()
      await expect(parts.writePart(2, bytes(1))).rejects.toThrow()
      await expect(parts.complete([{ n: 1, tag }])).rejects.toThrow()
      expect(await (await store).get(key)).toBeUndefined()
    })
  })
}
