/** Versions as items and back. Bodies are deflated; one that does not fit into an item lies in the blob store, written before the item. */
import { createHash } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { BlobStore } from '../../ports/blob-store.ts'
import type { ResourceKey, ResourceVersion, Write } from '../../ports/resource-store.ts'
import { HEAD, hashOf, partition, type Shards, versionSort } from './table.ts'

/** What an item says of one version. */
export type Content = {
  readonly vid: number
  /** Instant as text. */
  readonly lu: string
  readonly del?: true
  readonly cmp: string
  /** Deflated body, or the key of the blob that has it. */
  readonly z?: Uint8Array
  readonly blob?: string
}

export type Pending = { readonly ptx?: string; readonly pending?: Content }

/** A head as it is stored: `vid` is absent where a transaction stages the first version. */
export type HeadItem = Partial<Content> &
  Pending & { readonly pk: string; readonly sk: string; readonly gpk?: string; readonly gsk?: string; readonly sup?: string }

/** Compressed bytes that stay in an item; an item has 400 KB, and a head may stand beside its successor. */
const LARGEST_INLINE = 180_000

export const primaryKey = ({ tenant, type, id }: ResourceKey): string => `${tenant}#${type}#${id}`

export function keyOf(pk: string): ResourceKey {
  const [tenant = '', type = '', id = ''] = pk.split('#')
  return { tenant, type, id }
}

export async function contentOf(write: Write, blobs: BlobStore): Promise<Content> {
  const { expected, lastUpdated, deleted, compartments, body } = write
  const common = {
    vid: expected + 1,
    lu: new Date(lastUpdated).toISOString(),
    cmp: compartments.join(' '),
    ...(deleted ? { del: true as const } : {}),
  }
  if (body.length === 0) return common
  const z = deflateRawSync(body)
  if (z.length <= LARGEST_INLINE) return { ...common, z }
  const blob = `overflow/${write.tenant}/${write.type}/${write.id}/${expected + 1}-${createHash('sha256').update(z).digest('hex')}`
  await blobs.put(blob, { bytes: z, contentType: 'application/octet-stream' })
  return { ...common, blob }
}

export async function versionOf(key: ResourceKey, { vid, lu, del, cmp, z, blob }: Content, blobs: BlobStore): Promise<ResourceVersion> {
  const { tenant, type, id } = key
  const deflated = blob === undefined ? z : (await blobs.get(blob))?.bytes
  if (blob !== undefined && deflated === undefined) throw new Error(`the body of version ${vid} is missing from the blob store`)
  const body = deflated === undefined ? EMPTY : inflateRawSync(deflated)
  return {
    tenant,
    type,
    id,
    versionId: vid,
    lastUpdated: Date.parse(lu),
    deleted: del === true,
    compartments: cmp === '' ? [] : cmp.split(' '),
    body,
  }
}

const EMPTY = new Uint8Array()

/** The content of a head that stands for the resource without the transaction that may be staging its next version. */
export const ownContent = ({ vid, lu, del, cmp, z, blob }: Partial<Content>): Content | undefined =>
  vid === undefined ? undefined : defined({ vid, lu: lu!, cmp: cmp ?? '', del, z, blob })

function defined(content: { [Name in keyof Content]: Content[Name] | undefined }): Content {
  return Object.fromEntries(Object.entries(content).filter(([, value]) => value !== undefined)) as Content
}

export const headItem = (key: ResourceKey, content: Content, shards: Shards): HeadItem => ({
  pk: primaryKey(key),
  sk: HEAD,
  ...content,
  gpk: partition(key.tenant, key.type, 'c', hashOf(key.id) % shards(key.type)),
  gsk: `${content.lu}#${key.id}`,
})

/** `sup`: the instant of the version that follows. */
export const copyItem = (key: ResourceKey, content: Content, sup: string, gpk: string | undefined): HeadItem => ({
  pk: primaryKey(key),
  sk: versionSort(content.vid),
  ...content,
  sup,
  // The copy keeps the shard of its head, though shards may have been added since.
  gpk: (gpk ?? partition(key.tenant, key.type, 'c', 0)).replace(/#c#(\d+)$/, '#h#$1'),
  gsk: `${content.lu}#${key.id}#${String(content.vid).padStart(9, '0')}`,
})
