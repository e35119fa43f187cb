/** The heads that were written lately: from the index, and, where that shows nothing yet, from the manifests of large transactions. */
import { IndexBehind } from '../../../ports/faults/index-behind.ts'
import type { ResourceKey, ResourceVersion } from '../../../ports/store/resource-store.ts'
import { manifestOf, openTransactions, readRecord } from '../commit/transaction-record.ts'
import type { Dynamo } from '../table-client.ts'
import { behind, HEAD, instantPlace, keyOfHead } from '../table-keys.ts'
import { distinct, type Entry, type Range, readSources } from './index-windows.ts'
import type { Reader } from './reader.ts'
import type { Types } from './type-shards.ts'

export type RecentParts = {
  readonly dynamo: Dynamo
  readonly reader: Reader
  readonly types: Types
  /** Waits until the index shows all writes until now. */
  readonly writesShown: (scope: Scope) => Promise<void>
}
type Scope = { readonly tenant: string; readonly type: string }

/** Items read at once: of 180 KB each at the most. */
const AT_ONCE = 50

/** In this order: what a transaction settled before its manifest was looked for, the index shows once its lag is over. */
export async function* recentHeads(parts: RecentParts, scope: Scope, since: number, most: number): AsyncGenerator<ResourceVersion> {
  const moving = await keysOfOpen(parts, scope)
  await parts.writesShown(scope)
  const placed = await keysOfIndex(parts, scope, { from: instantPlace(Number.MAX_SAFE_INTEGER), to: behind(instantPlace(since)) }, most)
  // guard: recent-writes-include-pending-moves
  const keys = [...new Map([...moving, ...placed].map((key) => [key.id, key])).values()]
  for (let at = 0; at < keys.length; at += AT_ONCE) {
    const some = keys.slice(at, at + AT_ONCE)
    const heads = await parts.reader.heads(some)
    for (const [i, key] of some.entries()) if (heads[i] !== undefined) yield parts.reader.version(key, heads[i].current)
  }
}

/** What committed transactions bring in, until they are closed. */
async function keysOfOpen({ dynamo }: RecentParts, { tenant, type }: Scope): Promise<readonly ResourceKey[]> {
  const manifests = (await openTransactions(dynamo, tenant)).map(async (transaction) => {
    const record = await readRecord(dynamo, transaction)
    // guard: recent-writes-hide-uncommitted
    return record.state === 'COMMITTED' ? manifestOf(dynamo, transaction, record) : []
  })
  const keys = (await Promise.all(manifests)).flat()
  return keys.filter(({ sk }) => sk === HEAD).flatMap(({ pk }) => (keyOfHead(pk).type === type ? [keyOfHead(pk)] : []))
}

/** A copy tells of its head, which the index may show later. IndexBehind: more versions than that. */
async function keysOfIndex({ dynamo, types }: RecentParts, { tenant, type }: Scope, range: Range, most: number): Promise<readonly Entry[]> {
  const ranges = new Map((await types.sources(tenant, type)).map((source) => [source, range]))
  const heads = await readSources(dynamo, 'c', ranges, most + 1)
  const past = await readSources(dynamo, 'h', ranges, most + 1)
  const versions = distinct([...heads.values(), ...past.values()].flatMap(({ entries }) => entries))
  if (versions.length > most) throw new IndexBehind()
  return [...new Map(versions.map((entry) => [entry.id, entry])).values()]
}
