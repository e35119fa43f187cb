/**
 * Packs compartments and body of a version: a format byte, then both, deflated. A body too large for an item is in the blob store. It is
 * written before the item that refers to it, under a key that no other commit uses. The key names no resource, because access logs show
 * keys. So the blob ends with the name of its version, for the sweep of unused bodies.
 */
import { createHash, randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { crc32, deflateRaw, deflateRawSync, inflateRaw, inflateRawSync } from 'node:zlib'
import type { BlobInfo, BlobStore } from '../../ports/blobs/blob-store.ts'
import { MachineFault } from '../../ports/faults.ts'
import type { Write } from '../../ports/store/resource-store.ts'
import { encodeTenant, primaryKey } from './table-keys.ts'

/**
 * `crc`: CRC-32 of the inflated bytes, because the deflated format has no checksum. Absent in versions written by an earlier server
 * version.
 */
export type PackedBody = { readonly z: Uint8Array; readonly crc?: number } | { readonly blob: string; readonly sha: Uint8Array }
export type UnpackedBody = { readonly compartments: readonly string[]; readonly body: Uint8Array }

/** Version for which a large body was written. `pk`: partition key of its resource. */
export type BodyOwner = { readonly pk: string; readonly versionId: number }

/** Key prefix of large bodies in the blob store. Their keys contain the tenant and the type, by which permissions select them. */
export const BODY_PREFIX = 'bodies/'
/**
 * Key prefix of large bodies that an earlier server version wrote. Their keys name the resource. New bodies have another prefix, because
 * the sweep of that version removes each body of this prefix whose key names no version.
 */
export const LEGACY_BODY_PREFIX = 'overflow/'

const DEFLATED = 1
/**
 * Maximum packed bytes in an item. A larger body is stored in the blob store. An item has at most 400 KB, and a head item with a staged
 * version holds two bodies.
 */
const LARGEST_INLINE = 180_000
/** Maximum bytes to deflate or inflate on the calling thread. More bytes are processed in the thread pool. */
const QUICK = 64_000

export async function packBody(write: Write, blobs: BlobStore): Promise<PackedBody> {
  const compartments = Buffer.from(write.compartments.join(' '))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(compartments.length)
  const whole = Buffer.concat([length, compartments, write.body])
  const deflated = whole.length <= QUICK ? deflateRawSync(whole) : await promisify(deflateRaw)(whole)
  const z = Buffer.concat([Buffer.of(DEFLATED), deflated])
  if (z.length <= LARGEST_INLINE) return { z, crc: crc32(whole) }
  const blob = `${BODY_PREFIX}${encodeTenant(write.tenant)}/${write.type}/${randomUUID()}`
  const bytes = Buffer.concat([z, packOwner({ pk: primaryKey(write), versionId: write.expected + 1 })])
  await blobs.put(blob, { bytes, contentType: 'application/octet-stream' })
  return { blob, sha: digest(bytes) }
}

/** Maximum bytes of a packed owner: a partition key of the table has at most 2,048. */
const LARGEST_OWNER = 2_100
const OWNER_LENGTH = 2

/** Packs the owner of a body and its length. They follow the deflated bytes: inflating ends before them. */
function packOwner({ pk, versionId }: BodyOwner): Buffer {
  const owner = Buffer.from(`${pk} ${versionId}`)
  const length = Buffer.alloc(OWNER_LENGTH)
  length.writeUInt16BE(owner.length)
  return Buffer.concat([owner, length])
}

/** Returns the version for which a blob was written. Returns undefined if the blob does not exist. `size`: its bytes. */
export async function bodyOwnerOf({ key, size }: Pick<BlobInfo, 'key' | 'size'>, blobs: BlobStore): Promise<BodyOwner | undefined> {
  if (key.startsWith(LEGACY_BODY_PREFIX)) return legacyOwnerOf(key)
  const tail = (await blobs.get(key, [Math.max(0, size - LARGEST_OWNER), size]))?.bytes
  if (tail === undefined) return undefined
  const end = tail.length - OWNER_LENGTH
  const bytes = Buffer.from(tail)
  const [pk = '', versionId = ''] = bytes.toString('utf8', end - bytes.readUInt16BE(end), end).split(' ')
  return { pk, versionId: Number(versionId) }
}

function legacyOwnerOf(key: string): BodyOwner {
  const [tenant, type, rest = ''] = key.slice(LEGACY_BODY_PREFIX.length).split('/')
  const [id, versionId] = rest.split('~')
  return { pk: `${tenant}#${type}#${id}`, versionId: Number(versionId) }
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
