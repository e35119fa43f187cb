/** Removes large bodies from the blob store that no version refers to. Their commit failed, or its process ended before it. */
import type { BlobStore } from '../../../ports/blobs/blob-store.ts'
import type { Item, Key, TableClient } from '../table-client.ts'
import { HEAD_SORT_KEY, versionSortKey } from '../table-keys.ts'
import { OVERFLOW_PREFIX } from '../version-body.ts'

const AT_ONCE = 50

/**
 * Range of write times, in milliseconds since 1970. Bodies outside it are not removed. `before`: later bodies may belong to a commit in
 * progress. `from`: earlier bodies may belong to versions of the table from which this one was restored.
 */
export type WriteTimeRange = { readonly from: number; readonly before: number }

/** Removes the bodies of the time range to which no version refers. Returns the number of removed bodies. */
export async function sweepBodies(dynamo: TableClient, blobs: BlobStore, { from, before }: WriteTimeRange): Promise<number> {
  let removed = 0
  let some: string[] = []
  const sweep = async (): Promise<void> => {
    const named = await namedBlobs(dynamo, some)
    const orphans = some.filter((key) => !named.has(key))
    for (const key of orphans) await blobs.remove(key)
    removed += orphans.length
    some = []
  }
  for await (const { key, written } of blobs.list(OVERFLOW_PREFIX)) {
    if (written < from || written >= before) continue
    some.push(key)
    if (some.length === AT_ONCE) await sweep()
  }
  await sweep()
  return removed
}

/**
 * Returns those blobs to which a current, staged or superseded version refers. It reads the head items before the copies: a commit writes
 * the copy before it changes the head, so no version escapes both reads.
 */
async function namedBlobs(dynamo: TableClient, blobs: readonly string[]): Promise<ReadonlySet<string>> {
  const places = blobs.map(placesOf)
  const heads = await dynamo.getAll(places.map(({ head }) => head))
  const copies = await dynamo.getAll(places.map(({ copy }) => copy))
  return new Set([...heads, ...copies].flatMap((item) => (item === undefined ? [] : blobsOf(item))))
}

function placesOf(blob: string): { readonly head: Key; readonly copy: Key } {
  const [tenant, type, rest = ''] = blob.slice(OVERFLOW_PREFIX.length).split('/')
  const [id, version] = rest.split('~')
  const pk = `${tenant}#${type}#${id}`
  return { head: { pk, sk: HEAD_SORT_KEY }, copy: { pk, sk: versionSortKey(Number(version)) } }
}

const blobsOf = ({ v, p }: Item): readonly string[] =>
  [v, p].flatMap((content) => {
    const { blob } = (content ?? {}) as { readonly blob?: string }
    return blob === undefined ? [] : [blob]
  })
