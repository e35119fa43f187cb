/**
 * Packs compartments and body of a version: a format byte, then both, deflated. A body too large for an item is in the blob store. It is
 * written before the item that refers to it, under a key that no other commit uses.
 */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { crc32, deflateRaw, deflateRawSync, inflateRaw, inflateRawSync } from 'node:zlib'
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import { MachineFault } from '../../ports/faults.ts'
import type { Write } from '../../ports/store/resource-store.ts'
import { encodeTenant } from './table-keys.ts'

/**
 * `crc`: CRC-32 of the inflated bytes, because the deflated format has no checksum. Absent in versions written by an earlier server
 * version.
 */
export type PackedBody = { readonly z: Uint8Array; readonly crc?: number } | { readonly blob: string; readonly sha: Uint8Array }
export type UnpackedBody = { readonly compartments: readonly string[]; readonly body: Uint8Array }

/** Key prefix of large bodies in the blob store. */
export const OVERFLOW_PREFIX = 'overflow/'

const DEFLATED = 1
/**
 * Maximum packed bytes in an item. A larger body is stored in the blob store. An item has at most 400 KB, and a head item with a staged
 * version holds two bodies.
 */
const LARGEST_INLINE = 180_000
/** Maximum bytes to deflate or inflate on the calling thread. More bytes are processed in the thread pool. */
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
  if (z[0] !== DEFLATED) throw damaged(`a body has the unknown format ${z[0]}`)
  const whole = await inflated(z.subarray(1))
  // guard: stored-body-checksum
  if ('z' in packed && packed.crc !== undefined && packed.crc !== crc32(whole))
    throw damaged('a body has another checksum than when it was written')
  const end = whole.length < 4 ? Number.POSITIVE_INFINITY : 4 + whole.readUInt32BE(0)
  if (end > whole.length) throw damaged('a body is shorter than it was written')
  const compartments = whole.toString('utf8', 4, end)
  return { compartments: compartments === '' ? [] : compartments.split(' '), body: new Uint8Array(whole.subarray(end)) }
}

async function inflated(deflated: Uint8Array): Promise<Buffer> {
  try {
    return deflated.length <= QUICK ? inflateRawSync(deflated) : await promisify(inflateRaw)(deflated)
  } catch (error) {
    throw damaged('a body cannot be inflated', { cause: error })
  }
}

async function readBlob({ blob, sha }: Extract<PackedBody, { blob: string }>, blobs: BlobStore): Promise<Uint8Array> {
  const bytes = (await blobs.get(blob))?.bytes
  if (bytes === undefined) throw damaged('the blob of a body is missing')
  if (Buffer.compare(digest(bytes), sha) !== 0) throw damaged('the blob of a body is damaged')
  return bytes
}

const damaged = (message: string, options?: ErrorOptions) => new MachineFault('store-damaged', message, options)

const digest = (bytes: Uint8Array): Uint8Array => createHash('sha256').update(bytes).digest()
