/** Versions as items and back. */
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import { hashOf } from '../../ports/store/fnv-hash.ts'
import { MAKINGS, type ResourceKey, type ResourceVersion, type Write } from '../../ports/store/resource-store.ts'
import type { Item } from './table-client.ts'
import { HEAD, partition, place, primaryKey, shardOf, versionSort } from './table-keys.ts'
import { type Packed, pack, unpack } from './version-body.ts'

/** One version, in the attribute v of its item, or p while it is staged. */
export type Content = Packed & {
  readonly vid: number
  readonly lu: number
  readonly del?: true
  /** A place in MAKINGS. Absent where an earlier version of the server wrote it. */
  readonly made?: number
  /** The commit it came with: how a writer whose answer was lost knows its own write. */
  readonly op: string
}

type Indexed = { readonly gpk?: string; readonly gsk?: string }
type Intent = { readonly ptx?: string; readonly p?: Content; readonly pgpk?: string; readonly pgsk?: string }

/** `v` is absent where a transaction stages the first version. */
export type HeadItem = Item & Indexed & Intent & { readonly v?: Content }
export type CopyItem = Item & Indexed & { readonly v: Content; readonly sup: number }

/** A write with what it becomes. */
export type Staged = { readonly write: Write; readonly content: Content; readonly index: number; readonly shard: number }

export async function contentOf(write: Write, op: string, blobs: BlobStore): Promise<Content> {
  const common = {
    ...{ vid: write.expected + 1, lu: write.lastUpdated, op },
    ...(write.deleted ? { del: true as const } : {}),
    ...(write.made === undefined ? {} : { made: MAKINGS.indexOf(write.made) }),
  }
  return { ...common, ...(await pack(write, op, blobs)) }
}

/** Without what it holds. */
export const placeOf = ({ tenant, type, id }: ResourceKey, { vid, lu, del }: Content): ResourceVersion => ({
  ...{ tenant, type, id, versionId: vid, lastUpdated: lu, deleted: del === true, compartments: [], body: new Uint8Array() },
})

export async function versionOf({ tenant, type, id }: ResourceKey, content: Content, blobs: BlobStore): Promise<ResourceVersion> {
  const made = MAKINGS[content.made ?? -1]
  return { ...placeOf({ tenant, type, id }, content), ...(made === undefined ? {} : { made }), ...(await unpack(content, blobs)) }
}

export const headItem = ({ write, content, shard }: Staged): HeadItem => ({
  pk: primaryKey(write),
  sk: HEAD,
  v: content,
  ...headPlace(write, content, shard),
})

/** A deletion is past as soon as it is written: what is current leaves it out. */
export const headPlace = ({ tenant, type, id }: ResourceKey, { vid, lu, del }: Content, shard: number) => ({
  gpk: partition(tenant, type, del === true ? 'h' : 'c', shard),
  gsk: place(lu, id, vid),
})

/** `sup` is a hint: of writers that race, any may have left the last copy. The copy keeps the shard of its head. */
export const copyItem = ({ tenant, type, id }: ResourceKey, head: HeadItem, content: Content, sup: number): CopyItem => ({
  pk: head.pk,
  sk: versionSort(content.vid),
  v: content,
  sup,
  gpk: partition(tenant, type, 'h', shardOf(head.gpk!)),
  gsk: place(content.lu, id, content.vid),
})

export const shardFor = (id: string, shards: number): number => hashOf(id) % shards
