/** Removes large bodies no version names: they were written for commits that failed, or whose process died. */
import type { BlobStore } from '../../ports/blob-store.ts'
import { OVERFLOW } from './body.ts'
import type { Dynamo, Item, Key } from './dynamo.ts'
import { HEAD, versionSort } from './table.ts'

const AT_ONCE = 50

/** Those written before the instant, ms since 1970: younger ones may be on their way in. How many it removed. */
export async function sweepBodies(dynamo: Dynamo, blobs: BlobStore, before: number): Promise<number> {
  let removed = 0
  let some: string[] = []
  const sweep = async (): Promise<void> => {
    const named = await namedBlobs(dynamo, some)
    const orphans = some.filter((key) => !named.has(key))
    for (const key of orphans) await blobs.remove(key)
    removed += orphans.length
    some = []
  }
  for await (const { key, written } of blobs.list(OVERFLOW)) {
    if (written >= before) continue
    some.push(key)
    if (some.length === AT_ONCE) await sweep()
  }
  await sweep()
  return removed
}

/** A version stands at the head, staged there, or in a copy. */
async function namedBlobs(dynamo: Dynamo, blobs: readonly string[]): Promise<ReadonlySet<string>> {
  const items = await dynamo.getAll(blobs.flatMap(placesOf))
  return new Set(items.flatMap((item) => (item === undefined ? [] : blobsOf(item))))
}

function placesOf(blob: string): readonly Key[] {
  const [tenant, type, rest = ''] = blob.slice(OVERFLOW.length).split('/')
  const [id, version] = rest.split('~')
  const pk = `${tenant}#${type}#${id}`
  return [
    { pk, sk: HEAD },
    { pk, sk: versionSort(Number(version)) },
  ]
}

const blobsOf = ({ v, p }: Item): readonly string[] =>
  [v, p].flatMap((content) => {
    const { blob } = (content ?? {}) as { readonly blob?: string }
    return blob === undefined ? [] : [blob]
  })
