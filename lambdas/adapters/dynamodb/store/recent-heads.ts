/**
 * Reads the current versions of recently written resources. It finds them in the table's index, and in manifests of large transactions that
 * the index does not show yet.
 */
import { indexBehind } from '../../../ports/faults.ts'
import type { ResourceKey, ResourceVersion } from '../../../ports/store/resource-store.ts'
import { manifestOf, openTransactions, readRecord } from '../commit/transaction-record.ts'
import type { TableClient } from '../table-client.ts'
import { HEAD_SORT_KEY, instantSortKey, parsePrimaryKey, sortKeyAfter } from '../table-keys.ts'
import { distinctEntries, type IndexEntry, readSources, type SortKeyRange } from './index-windows.ts'
import type { VersionReader } from './reader.ts'
import type { TypeShards } from './type-shards.ts'

export type RecentHeadsParts = {
  readonly dynamo: TableClient
  readonly reader: VersionReader
  readonly types: TypeShards
  /** Waits until the table's index shows all writes made before the call. */
  readonly writesShown: (scope: Scope) => Promise<void>
}
type Scope = { readonly tenant: string; readonly type: string }

/** Maximum items read at once. A version in an item has at most 180 KB, and a head item with a staged version has two. */
const AT_ONCE = 50

/**
 * Yields the current version of each resource that was written since an instant. It reads the manifests of open transactions before the
 * index. A transaction that is closed by then is in the index after the wait, so none is missed.
 */
export async function* readRecentHeads(
  parts: RecentHeadsParts,
  scope: Scope,
  since: number,
  most: number,
): AsyncGenerator<ResourceVersion> {
  const moving = await keysOfOpen(parts, scope)
  await parts.writesShown(scope)
  const placed = await keysOfIndex(
    parts,
    scope,
    { from: instantSortKey(Number.MAX_SAFE_INTEGER), to: sortKeyAfter(instantSortKey(since)) },
    most,
  )
  // guard: recent-writes-include-pending-moves
  const keys = [...new Map([...moving, ...placed].map((key) => [key.id, key])).values()]
  for (let at = 0; at < keys.length; at += AT_ONCE) {
    const some = keys.slice(at, at + AT_ONCE)
    const heads = await parts.reader.heads(some)
    for (const [i, key] of some.entries()) if (heads[i] !== undefined) yield parts.reader.version(key, heads[i].current)
  }
}

/** Returns the keys of resources of the type that committed but not yet closed transactions write. */
async function keysOfOpen({ dynamo }: RecentHeadsParts, { tenant, type }: Scope): Promise<readonly ResourceKey[]> {
  const manifests = (await openTransactions(dynamo, tenant)).map(async (transaction) => {
    const record = await readRecord(dynamo, transaction)
    // guard: recent-writes-hide-uncommitted
    return record.state === 'COMMITTED' ? manifestOf(dynamo, transaction, record) : []
  })
  const keys = (await Promise.all(manifests)).flat()
  return keys.filter(({ sk }) => sk === HEAD_SORT_KEY).flatMap(({ pk }) => (parsePrimaryKey(pk).type === type ? [parsePrimaryKey(pk)] : []))
}

/**
 * Returns the resources with recent versions in the index. An entry of a copy also names its resource, whose new head the index may not
 * show yet. Throws the fault `index-behind` if there are more than `most` versions.
 */
async function keysOfIndex(
  { dynamo, types }: RecentHeadsParts,
  { tenant, type }: Scope,
  range: SortKeyRange,
  most: number,
): Promise<readonly IndexEntry[]> {
  const ranges = new Map((await types.sources(tenant, type)).map((source) => [source, range]))
  const heads = await readSources(dynamo, 'c', ranges, most + 1)
  const past = await readSources(dynamo, 'h', ranges, most + 1)
  const versions = distinctEntries([...heads.values(), ...past.values()].flatMap(({ entries }) => entries))
  if (versions.length > most) throw indexBehind()
  return [...new Map(versions.map((entry) => [entry.id, entry])).values()]
}
