/** What lambdas/ports/blobs/blob-copier.ts promises, as tests: every adapter runs this suite. */
import { createHash, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { BlobCopier, BucketKey, PartialCopy, SourceBlob } from '../../lambdas/ports/blobs/blob-copier.ts'
import type { Blob, BlobStore } from '../../lambdas/ports/blobs/blob-store.ts'

export type BlobCopierUnderTest = {
  /** Where blobs are copied from. */
  readonly blobs: BlobStore
  /** Those that copy it, each as if in a process of its own. A call copies `each` bytes. */
  readonly copiers: readonly [BlobCopier, BlobCopier]
  readonly each: number
  /** A bucket that is there. */
  readonly bucket: string
  readonly read: (place: BucketKey) => Promise<Blob | undefined>
  readonly close: () => Promise<void>
}

const NDJSON = 'application/fhir+ndjson'

export function blobCopierContract(name: string, create: () => Promise<BlobCopierUnderTest>): void {
  let here: BlobCopierUnderTest
  beforeAll(async () => {
    here = await create()
  })
  afterAll(() => here?.close())

  const placeIn = (bucket: string): BucketKey => ({ bucket, key: `north/${randomUUID()}/20310101T030000.000Z/Patient.ndjson` })
  async function kept(size: number): Promise<{ readonly copied: SourceBlob; readonly blob: Blob }> {
    const [key, blob] = [`exports/${randomUUID()}/files/Patient.ndjson`, { bytes: noise(size), contentType: NDJSON }]
    await here.blobs.put(key, blob)
    return { copied: { key, size, contentType: NDJSON }, blob }
  }
  const isSame = async (place: BucketKey, blob: Blob): Promise<boolean> => {
    const found = await here.read(place)
    return found !== undefined && found.contentType === blob.contentType && hashOf(found) === hashOf(blob)
  }
  /** `told`: what each call but the last gave. */
  async function copyAll(copied: SourceBlob, to: BucketKey, parts?: PartialCopy): Promise<readonly PartialCopy[]> {
    const told: PartialCopy[] = []
    for (let n = 0, next = parts; ; n++) {
      next = await here.copiers[n % 2]!.copy(copied, to, next)
      if (next === undefined) return told
      told.push(JSON.parse(JSON.stringify(next)))
    }
  }

  describe(`${name}: copies`, () => {
    it('are equal in bytes and content type, and replace the previous blob', async () => {
      const to = placeIn(here.bucket)
      for (const size of [5, 0, here.each]) {
        const { copied, blob } = await kept(size)
        expect(await copyAll(copied, to)).toEqual([])
        expect(await isSame(to, blob)).toBe(true)
      }
    })

    it('proceed in parts over several processes, and are visible once complete', async () => {
      const { copied, blob } = await kept(2 * here.each + 7)
      const to = placeIn(here.bucket)
      let next: PartialCopy | undefined
      for (const count of [0, 1, 2, 3]) {
        next = await here.copiers[count % 2]!.copy(copied, to, next)
        expect([next!.tags.length, await here.read(to)]).toEqual([count, undefined])
      }
      expect(await here.copiers[0].copy(copied, to, next)).toBeUndefined()
      expect(await isSame(to, blob)).toBe(true)
    })

    it('are equal if a call with a lost response is repeated', async () => {
      const { copied, blob } = await kept(2 * here.each)
      const to = placeIn(here.bucket)
      const begun = await here.copiers[0].copy(copied, to)
      await here.copiers[0].copy(copied, to, begun)
      const told = await copyAll(copied, to, begun)
      expect(told.map(({ tags }) => tags.length)).toEqual([1, 2])
      expect(await isSame(to, blob)).toBe(true)
      // The last answer: its parts are no more, and it is copied again.
      expect((await copyAll(copied, to, told.at(-1)!)).map(({ tags }) => tags.length)).toEqual([0, 1, 2])
      expect(await isSame(to, blob)).toBe(true)
    })

    it('restart after their parts were abandoned, which is idempotent', async () => {
      const { copied, blob } = await kept(here.each + 1)
      const to = placeIn(here.bucket)
      const begun = await here.copiers[0].copy(copied, to)
      const parts = await here.copiers[0].copy(copied, to, begun)
      for (const copier of here.copiers) await copier.abandon(to, parts!)
      expect((await copyAll(copied, to, parts)).map(({ tags }) => tags.length)).toEqual([0, 1, 2])
      expect(await isSame(to, blob)).toBe(true)
    })
  })

  describe(`${name}: a failed copy`, () => {
    it('leaves the previous blob if the source is missing', async () => {
      const { copied, blob } = await kept(9)
      const to = placeIn(here.bucket)
      await copyAll(copied, to)
      await expect(here.copiers[0].copy({ ...copied, key: `exports/${randomUUID()}` }, to)).rejects.toThrow()
      expect(await isSame(to, blob)).toBe(true)
    })

    it('leaves the source if the bucket is missing, for every size', async () => {
      for (const size of [9, here.each + 1]) {
        const { copied, blob } = await kept(size)
        await expect(here.copiers[0].copy(copied, placeIn(`no-${randomUUID()}`))).rejects.toThrow()
        expect(hashOf((await here.blobs.get(copied.key))!)).toBe(hashOf(blob))
      }
      await expect(here.copiers[0].put(placeIn(`no-${randomUUID()}`), { bytes: noise(1), contentType: NDJSON })).rejects.toThrow()
    })
  })

  it(`${name}: put stores a blob and replaces the previous one`, async () => {
    const to = placeIn(here.bucket)
    for (const size of [3, 1]) {
      const blob = { bytes: noise(size), contentType: 'application/json' }
      await here.copiers[0].put(to, blob)
      expect(await isSame(to, blob)).toBe(true)
    }
  })
}

const hashOf = ({ bytes }: Blob): string => createHash('sha256').update(bytes).digest('hex')

/** Always other bytes. */
function noise(size: number): Uint8Array {
  const block = Buffer.from(randomUUID())
  return Buffer.concat(
    Array.from({ length: Math.ceil(size / block.length) }, (_, n) => (n % 7 === 0 ? Buffer.from(randomUUID()) : block)),
    size,
  )
}
