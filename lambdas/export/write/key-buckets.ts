/**
 * Blobs of resource keys for the second pass: references of exported resources, or candidates. The keys are in 64 buckets by their hash. So
 * a collector reads only its own buckets from the blobs of all writers.
 * A blob starts with a header: the end offset of each of its buckets, as 64 numbers of 32 bits, little-endian, counted from the end of the
 * header. Then follow the keys by bucket, each `Type/id` and a line feed.
 */
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import { hashOf } from '../../ports/store/fnv-hash.ts'

export const BUCKET_COUNT = 64

/** Range of buckets, the end exclusive. */
export type BucketRange = readonly [from: number, to: number]

const HEAD = BUCKET_COUNT * Uint32Array.BYTES_PER_ELEMENT
/** Bytes of the first read. A smaller blob needs no second read. */
const FIRST = 65_536

/** Stores keys in a new blob. `keys`: distinct keys. `blob`: a key that is never reused. */
export async function putKeys(blobs: Pick<BlobStore, 'put'>, blob: string, keys: Iterable<string>): Promise<void> {
  const buckets = Array.from({ length: BUCKET_COUNT }, (): string[] => [])
  for (const key of keys) buckets[bucketOf(key)]!.push(`${key}\n`)
  const texts = buckets.map((bucket) => Buffer.from(bucket.join('')))
  const head = Buffer.alloc(HEAD)
  let end = 0
  for (const [i, { length }] of texts.entries()) {
    end += length
    head.writeUInt32LE(end, i * Uint32Array.BYTES_PER_ELEMENT)
  }
  await blobs.put(blob, { bytes: Buffer.concat([head, ...texts]), contentType: 'application/octet-stream' })
}

/** Returns the keys of a range of buckets. Throws Error if the blob does not exist. */
export async function readKeys(blobs: Pick<BlobStore, 'get'>, blob: string, [from, to]: BucketRange): Promise<readonly string[]> {
  const first = await bytesOf(blobs, blob, [0, FIRST])
  const start = HEAD + (from === 0 ? 0 : first.readUInt32LE((from - 1) * 4))
  const end = HEAD + first.readUInt32LE((to - 1) * 4)
  if (start === end) return []
  const bytes = end <= first.length ? first.subarray(start, end) : await bytesOf(blobs, blob, [start, end])
  return bytes.toString('latin1', 0, bytes.length - 1).split('\n')
}

async function bytesOf(blobs: Pick<BlobStore, 'get'>, key: string, range: readonly [number, number]): Promise<Buffer> {
  const blob = await blobs.get(key, range)
  if (blob === undefined) throw new Error('the referenced keys of an export are missing')
  return Buffer.from(blob.bytes.buffer, blob.bytes.byteOffset, blob.bytes.length)
}

const bucketOf = (key: string): number => hashOf(key) % BUCKET_COUNT
