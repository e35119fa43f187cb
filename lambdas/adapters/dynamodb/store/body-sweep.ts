/** Removes large bodies from the blob store that no version refers to. Their commit failed, or its process ended before it. */
import type { BlobInfo, BlobStore } from '../../../ports/blobs/blob-store.ts'
import type { Item, TableClient } from '../table-client.ts'
import { HEAD_SORT_KEY, versionSortKey } from '../table-keys.ts'
import { BODY_PREFIX, type BodyOwner, bodyOwnerOf, LEGACY_BODY_PREFIX } from '../version-body.ts'

const AT_ONCE = 50

/**
 * Range of write times, in milliseconds since 1970. Bodies outside it are not removed. `before`: later bodies may belong to a commit in
 * progress. `from`: earlier bodies may belong to versions of the table from which this one was restored. `part`: 0 to 15, one sixteenth of
 * the bodies. A sweep reads each body that it checks, and must end before its function does.
 */
export type WriteTimeRange = { readonly from: number; readonly before: number; readonly part?: number }

/** Removes the bodies of the time range to which no version refers. Returns the number of removed bodies. */
export async function sweepBodies(dynamo: TableClient, blobs: BlobStore, { from, before, part }: WriteTimeRange): Promise<number> {
  let removed = 0
  let some: BlobInfo[] = []
  const sweep = async (): Promise<void> => {
    const owners = await Promise.all(some.map((blob) => bodyOwnerOf(blob, blobs)))
    const named = await namedBlobs(
      dynamo,
      owners.filter((owner) => owner !== undefined),
    )
    const orphans = some.filter(({ key }) => !named.has(key))
    for (const { key } of orphans) await blobs.remove(key)
    removed += orphans.length
    some = []
  }
  for (const prefix of [BODY_PREFIX, LEGACY_BODY_PREFIX])
    for await (const blob of blobs.list(prefix)) {
      if (blob.written < from || blob.written >= before || !isOfPart(blob.key, part)) continue
      some.push(blob)
      if (some.length === AT_ONCE) await sweep()
    }
  await sweep()
  return removed
}

/** Whether the last part of the key begins with the hexadecimal digit `part`. Those keys are random. Earlier keys belong to every part. */
const isOfPart = (key: string, part: number | undefined): boolean =>
  part === undefined || key.startsWith(LEGACY_BODY_PREFIX) || key.slice(key.lastIndexOf('/') + 1).startsWith(part.toString(16))

/**
 * Returns the blobs to which the current, staged or superseded versions refer. It reads the head items before the copies: a commit writes
 * the copy before it changes the head, so no version escapes both reads.
 */
async function namedBlobs(dynamo: TableClient, owners: readonly BodyOwner[]): Promise<ReadonlySet<string>> {
  const heads = await dynamo.getAll(owners.map(({ pk }) => ({ pk, sk: HEAD_SORT_KEY })))
  const copies = await dynamo.getAll(owners.map(({ pk, versionId }) => ({ pk, sk: versionSortKey(versionId) })))
  return new Set([...heads, ...copies].flatMap((item) => (item === undefined ? [] : blobsOf(item))))
}

const blobsOf = ({ v, p }: Item): readonly string[] =>
  [v, p].flatMap((content) => {
    const { blob } = (content ?? {}) as { readonly blob?: string }
    return blob === undefined ? [] : [blob]
  })
