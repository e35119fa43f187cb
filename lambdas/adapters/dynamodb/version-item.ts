/** Converts versions to items and back. */
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import { hashOf } from '../../ports/store/fnv-hash.ts'
import { type ResourceKey, type ResourceVersion, WRITE_KINDS, type Write } from '../../ports/store/resource-store.ts'
import type { Item } from './table-client.ts'
import { HEAD_SORT_KEY, indexPartition, indexSortKey, primaryKey, shardOf, versionSortKey } from './table-keys.ts'
import { type PackedBody, packBody, unpackBody } from './version-body.ts'

/** Content of a version: the attribute v of its item, or p while it is staged. */
export type VersionContent = PackedBody & {
  readonly vid: number
  readonly lu: number
  readonly del?: true
  /** Write kind, as its index in WRITE_KINDS. Absent in versions written by an earlier server version. */
  readonly made?: number
  /** Id of the commit, by which a writer with a lost response recognizes its own write. */
  readonly op: string
}

type Indexed = { readonly gpk?: string; readonly gsk?: string }
type Intent = { readonly ptx?: string; readonly p?: VersionContent; readonly pgpk?: string; readonly pgsk?: string }

/** Head item. `v` is absent while a transaction stages the first version. */
export type HeadItem = Item & Indexed & Intent & { readonly v?: VersionContent }
export type CopyItem = Item & Indexed & { readonly v: VersionContent; readonly sup: number }

/** Write with the content to store. `index`: its position in the commit. `shard`: number of its index partition. */
export type StagedWrite = { readonly write: Write; readonly content: VersionContent; readonly index: number; readonly shard: number }

export async function contentOf(write: Write, op: string, blobs: BlobStore): Promise<VersionContent> {
  const common = {
    ...{ vid: write.expected + 1, lu: write.lastUpdated, op },
    ...(write.deleted ? { del: true as const } : {}),
    ...(write.made === undefined ? {} : { made: WRITE_KINDS.indexOf(write.made) }),
  }
  return { ...common, ...(await packBody(write, blobs)) }
}

/** Returns the version without its compartments and body. */
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

/**
 * Returns the index keys of a head item. A deletion is indexed among the superseded versions at once, so that readers of current versions
 * skip it.
 */
export const headIndexKeys = ({ tenant, type, id }: ResourceKey, { vid, lu, del }: VersionContent, shard: number) => ({
  gpk: indexPartition(tenant, type, del === true ? 'h' : 'c', shard),
  gsk: indexSortKey(lu, id, vid),
})

/**
 * Returns the copy of a version that is being superseded. `sup`: timestamp of the successor. It is only a hint: of several racing writers
 * the last one leaves its own. The copy has the index partition of its head.
 */
export const copyItem = ({ tenant, type, id }: ResourceKey, head: HeadItem, content: VersionContent, sup: number): CopyItem => ({
  pk: head.pk,
  sk: versionSortKey(content.vid),
  v: content,
  sup,
  gpk: indexPartition(tenant, type, 'h', shardOf(head.gpk!)),
  gsk: indexSortKey(content.lu, id, content.vid),
})

export const shardOfId = (id: string, shards: number): number => hashOf(id) % shards
