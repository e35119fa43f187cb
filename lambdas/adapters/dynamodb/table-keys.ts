/**
 * Definition of the table, as data for tests and infrastructure, and of its keys.
 *
 *   pk tenant#Type#id      sk H            the head item: v, the current version; with a staged next version also ptx, p, pgpk, pgsk
 *                          sk V#000000001  the copy of a superseded version: v; sup, the timestamp of its successor
 *   pk tenant#UNQ#digest   sk U            a uniqueness guard: v, the resource that holds it
 *   pk tenant#TXN#id       sk T, M#0001 …  the record of a large transaction, and the keys it stages
 *   pk tenant#OPEN         sk id           a large transaction that is not closed
 *   pk #TENANTS            sk N#tenant     a tenant that may have resources
 *   pk #PULSE#place        sk P            a heartbeat: sent, its instant (stream/heartbeat.ts)
 *   pk #LAG                sk instant#of   an index lag in ms: of all, or of a type with rejected writes (store/index-lag.ts)
 *   pk tenant#CANONICAL#Type#digest  sk D#id  a definition that may carry this canonical URL
 *   pk tenant#IDENTIFIER#Type#digest  sk I#digest#id  a resource that may have this identifier: at, when the row was added
 *   pk tenant#CFG          sk T#Type       a type with resources of the tenant, and the number of its index partitions
 *   pk RESTORE             sk id           objects of a backup that are restored, while its restore goes on (runtime/backup/stage.ts)
 *
 * The index holds heads (tenant#Type#c#shard) and past versions (tenant#Type#h#shard: copies, and heads that are deletions), newest first.
 * It also holds the records of open transactions by deadline, and some heartbeats; their `sup` is the instant they were sent.
 */
import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb'
import type { ResourceKey } from '../../ports/store/resource-store.ts'

export const INDEX_NAME = 'gsi1'

const text = (name: string) => ({ AttributeName: name, AttributeType: 'S' }) as const

export const TABLE_DEFINITION = {
  BillingMode: 'PAY_PER_REQUEST',
  AttributeDefinitions: ['pk', 'sk', 'gpk', 'gsk'].map(text),
  KeySchema: [
    { AttributeName: 'pk', KeyType: 'HASH' },
    { AttributeName: 'sk', KeyType: 'RANGE' },
  ],
  GlobalSecondaryIndexes: [
    {
      IndexName: INDEX_NAME,
      KeySchema: [
        { AttributeName: 'gpk', KeyType: 'HASH' },
        { AttributeName: 'gsk', KeyType: 'RANGE' },
      ],
      Projection: { ProjectionType: 'INCLUDE', NonKeyAttributes: ['sup'] },
    },
  ],
} satisfies Omit<CreateTableCommandInput, 'TableName'>

/**
 * Attribute with the instant after which DynamoDB deletes an item, in seconds since 1970. Heads, copies and items of open transactions
 * never have it.
 */
export const EXPIRY_ATTRIBUTE = 'expires'

export const HEAD_SORT_KEY = 'H'
export const versionSortKey = (versionId: number): string => `V#${nine(versionId)}`

/**
 * Returns the partition key of a resource. The separator sorts before all characters of ids, types and tenants. So keys sort by tenant,
 * then type, then id.
 */
export const primaryKey = ({ tenant, type, id }: ResourceKey): string => `${encodeTenant(tenant)}#${type}#${id}`

/** Parses the partition key of a resource. */
export function parsePrimaryKey(pk: string): ResourceKey {
  const [tenant = '', type = '', id = ''] = pk.split('#')
  return { tenant: decodeTenant(tenant), type, id }
}

/**
 * Joins parts to a partition key below a tenant. Parts in upper case never equal a resource type, because types contain lower-case letters.
 */
export const tenantKey = (tenant: string, ...rest: readonly string[]): string => [encodeTenant(tenant), ...rest].join('#')

/** Kinds of index partitions. `c`: current versions. `h`: superseded versions and deletions. */
export type PartitionKind = 'c' | 'h'

export const indexPartition = (tenant: string, type: string, kind: PartitionKind, shard: number): string =>
  tenantKey(tenant, type, kind, String(shard))

export function shardOf(gpk: string): number {
  return Number(gpk.slice(gpk.lastIndexOf('#') + 1))
}

const LATEST = 9_999_999_999_999

/**
 * Returns the sort key of a version in its index partition. In ascending order: newest first, the order of HistoryPosition within a type.
 */
export const indexSortKey = (lastUpdated: number, id: string, versionId: number): string =>
  `${instantSortKey(lastUpdated)}#${id}#${nine(999_999_999 - versionId)}`

/** Returns a sort key that sorts before all versions with the timestamp. */
export const instantSortKey = (lastUpdated: number): string => String(LATEST - Math.max(0, Math.min(lastUpdated, LATEST))).padStart(13, '0')

/**
 * Returns a sort key that sorts directly after `some`: after one version, or after all versions of a timestamp, or of a timestamp and id.
 */
export const sortKeyAfter = (some: string): string => `${some}#~`

export function parseIndexSortKey(gsk: string): { readonly lastUpdated: number; readonly id: string; readonly versionId: number } {
  const [instant, id = '', version] = gsk.split('#')
  return { lastUpdated: LATEST - Number(instant), id, versionId: 999_999_999 - Number(version) }
}

const nine = (n: number): string => String(n).padStart(9, '0')

/** Encodes a tenant for keys of items and blobs: replaces each character that keys do not accept by `~` and its code. */
export const encodeTenant = (tenant: string): string =>
  tenant.replace(/[^A-Za-z0-9_-]/g, (character) => `~${character.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Returns the tenant that `encodeTenant` encoded. */
export const decodeTenant = (plain: string): string =>
  plain.replace(/~([0-9a-f]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
