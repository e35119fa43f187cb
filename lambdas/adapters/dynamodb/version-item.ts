/** Versions as items and back. */
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import { hashOf } from '../../ports/store/fnv-hash.ts'
import { type ResourceKey, type ResourceVersion, WRITE_KINDS, type Write } from '../../ports/store/resource-store.ts'
import type { Item } from './table-client.ts'
import { HEAD_SORT_KEY, indexPartition, indexSortKey, primaryKey, shardOf, versionSortKey } from './table-keys.ts'
import { type PackedBody, packBody, unpackBody } from './version-body.ts'

/** One version, in the attribute v of its item, or p while it is staged. */
export type VersionContent = PackedBody & {
  readonly vid: number
  readonly lu: number
  readonly del?: true
  /** A place in MAKINGS. Absent where an earlier version of the server wrote it. */
  readonly made?: number
  /** The commit it came with: how a writer whose answer was lost knows its own write. */
  readonly op: string
}

type Indexed = { readonly gpk?: string; readonly gsk?: string }
type Intent = { readonly ptx?: string; readonly p?: VersionContent; readonly pgpk?: string; readonly pgsk?: string }

/** `v` is absent where a transaction stages the first version. */
export type HeadItem = Item & Indexed & Intent & { readonly v?: VersionContent }
export type CopyItem = Item & Indexed & { readonly v: VersionContent; readonly sup: number }

/** A write with what it becomes. */
export type StagedWrite = { readonly write: Write; readonly content: VersionContent; readonly index: number; readonly shard: number }

export async function contentOf(write: Write, op: string, blobs: BlobStore): Promise<VersionContent> {
  const common = {
    ...{ vid: write.expected + 1, lu: write.lastUpdated, op },
    ...(write.deleted ? { del: true as const } : {}),
    ...(write.made === undefined ? {} : { made: WRITE_KINDS.indexOf(write.made) }),
  }
  return { ...common, ...(await packBody(write, op, blobs)) }
}

/** Without what it holds. */
export const versionWithoutBody = ({ tenant, type, id }: ResourceKey, { vid, lu, del }: VersionContent): ResourceVersion => ({
  ...{ tenant, type, id, versionId: vid, lastUpdated: lu, deleted: del === true, compartments: [], body: new Uint8Array() },
})

export async function versionOf({ tenant, type, id }: ResourceKey, content: VersionContent, blobs: BlobStore): Promise<ResourceVersion> {
  const made = WRITE_KINDS[content.made ?? -1]
  return {
    ...versionWithoutBody({ tenant, type, id }, content),
    ...(made === undefined ? {} : { made }),
    ...(await unpackBody(content, blobs)),
  }
}

export const headItem = ({ write, content, shard }: StagedWrite): HeadItem => ({
  pk: primaryKey(write),
  sk: HEAD_SORT_KEY,
  v: content,
  ...headIndexKeys(write, content, shard),
})

/** A deletion is past as soon as it is written: what is current leaves it out. */
export const headIndexKeys = ({ tenant, type, id }: ResourceKey, { vid, lu, del }: VersionContent, shard: number) => ({
  gpk: indexPartition(tenant, type, del === true ? 'h' : 'c', shard),
  gsk: indexSortKey(lu, id, vid),
})

/** `sup` is a hint: of writers that race, any may have left the last copy. The copy keeps the shard of its head. */
export const copyItem = ({ tenant, type, id }: ResourceKey, head: HeadItem, content: VersionContent, sup: number): CopyItem => ({
  pk: head.pk,
  sk: versionSortKey(content.vid),
  v: content,
  sup,
  gpk: indexPartition(tenant, type, 'h', shardOf(head.gpk!)),
  gsk: indexSortKey(content.lu, id, content.vid),
})

export const shardOfId = (id: string, shards: number): number => hashOf(id) % shards
