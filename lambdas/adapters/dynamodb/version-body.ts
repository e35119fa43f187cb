/**
 * A version's compartments and body as bytes: a format, then both, deflated. What is too large for an item lies in the blob store, written
 * before the item that names it, under a key of its own: no other commit writes there.
 */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { crc32, deflateRaw, deflateRawSync, inflateRaw, inflateRawSync } from 'node:zlib'
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import { Damaged } from '../../ports/faults/damaged.ts'
import type { Write } from '../../ports/store/resource-store.ts'
import { encodeTenant } from './table-keys.ts'

/** `crc`: of what was deflated, which has no checksum of its own in this format. Absent where an earlier version of the server wrote it. */
export type PackedBody = { readonly z: Uint8Array; readonly crc?: number } | { readonly blob: string; readonly sha: Uint8Array }
export type UnpackedBody = { readonly compartments: readonly string[]; readonly body: Uint8Array }

/** What the keys of large bodies begin with. */
export const OVERFLOW_PREFIX = 'overflow/'

const DEFLATED = 1
/** An item has 400 KB, and a head stands beside its successor while a transaction stages it. */
const LARGEST_INLINE = 180_000
/** Bytes that are deflated on the caller's thread. */
const QUICK = 64_000

export async function packBody(write: Write, op: string, blobs: BlobStore): Promise<PackedBody> {
  const compartments = Buffer.from(write.compartments.join(' '))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(compartments.length)
  const whole = Buffer.concat([length, compartments, write.body])
  const deflated = whole.length <= QUICK ? deflateRawSync(whole) : await promisify(deflateRaw)(whole)
  const z = Buffer.concat([Buffer.of(DEFLATED), deflated])
  if (z.length <= LARGEST_INLINE) return { z, crc: crc32(whole) }
  const blob = `${OVERFLOW_PREFIX}${encodeTenant(write.tenant)}/${write.type}/${write.id}~${write.expected + 1}~${op}`
  await blobs.put(blob, { bytes: z, contentType: 'application/octet-stream' })
  return { blob, sha: digest(z) }
}

export async function unpackBody(packed: PackedBody, blobs: BlobStore): Promise<UnpackedBody> {
  const z = 'z' in packed ? packed.z : await readBlob(packed, blobs)
  if (z[0] !== DEFLATED) throw new Damaged('store', `a body has the unknown format ${z[0]}`)
  const whole = await inflated(z.subarray(1))
  // guard: stored-body-checksum
  if ('z' in packed && packed.crc !== undefined && packed.crc !== crc32(whole))
    throw new Damaged('store', 'a body has another checksum than when it was written')
  const end = whole.length < 4 ? Number.POSITIVE_INFINITY : 4 + whole.readUInt32BE(0)
  if (end > whole.length) throw new Damaged('store', 'a body is shorter than it was written')
  const compartments = whole.toString('utf8', 4, end)
  return { compartments: compartments === '' ? [] : compartments.split(' '), body: new Uint8Array(whole.subarray(end)) }
}

async function inflated(deflated: Uint8Array): Promise<Buffer> {
  try {
    return deflated.length <= QUICK ? inflateRawSync(deflated) : await promisify(inflateRaw)(deflated)
  } catch (error) {
    throw new Damaged('store', 'a body cannot be inflated', { cause: error })
  }
}

async function readBlob({ blob, sha }: Extract<PackedBody, { blob: string }>, blobs: BlobStore): Promise<Uint8Array> {
  const bytes = (await blobs.get(blob))?.bytes
  if (bytes === undefined) throw new Damaged('store', 'the blob of a body is missing')
  if (Buffer.compare(digest(bytes), sha) !== 0) throw new Damaged('store', 'the blob of a body is damaged')
  return bytes
}

const digest = (bytes: Uint8Array): Uint8Array => createHash('sha256').update(bytes).digest()
