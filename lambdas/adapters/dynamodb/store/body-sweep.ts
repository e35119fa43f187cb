/** Removes large bodies no version names: they were written for commits that failed, or whose process died. */
import type { BlobStore } from '../../../ports/blobs/blob-store.ts'
import type { Item, Key, TableClient } from '../table-client.ts'
import { HEAD_SORT_KEY, versionSortKey } from '../table-keys.ts'
import { OVERFLOW_PREFIX } from '../version-body.ts'

const AT_ONCE = 50

/** Instants in ms since 1970. Those from `before` on may be on their way in, and earlier ones than `from` be named by another table. */
export type WriteTimeRange = { readonly from: number; readonly before: number }

/** How many it removed. */
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
 * A version stands at the head, staged there, or in a copy. Heads first, copies after, as a batch is no snapshot: a head that has moved on
 * in between has left its copy before.
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
