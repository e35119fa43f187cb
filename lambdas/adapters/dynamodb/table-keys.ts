/**
 * The one table, as data for tests and infrastructure, and how its keys are made.
 *
 *   pk tenant#Type#id      sk H            the head: v, the current version; while a transaction has staged the next one also ptx, p, pgpk, pgsk
 *                          sk V#000000001  a superseded version: v, and sup, the instant its successor was stamped with
 *   pk tenant#UNQ#digest   sk U            a guard: v, the resource it is bound to
 *   pk tenant#TXN#id       sk T, M#0001 …  the record of a large transaction, and the keys it stages
 *   pk tenant#OPEN         sk id           a large transaction that is not settled yet
 *   pk #TENANTS            sk N#tenant     a tenant there may be resources of
 *   pk #PULSE#place        sk P            a beat: sent, when (stream/heartbeat.ts)
 *   pk #LAG                sk instant#of   a lag of the index, in ms: of all of it, or of a type whose writes it refused (store/index-lag.ts)
 *   pk tenant#CANONICAL#Type#digest  sk D#id  a definition that may carry this canonical
 *   pk tenant#CFG          sk T#Type       a type the tenant has resources of, and over how many partitions of the index it is spread
 *
 * The index holds heads (tenant#Type#c#shard) and what is past (tenant#Type#h#shard: copies, and heads that are deletions), newest
 * first, the records of open transactions by their deadline, and some beats, whose `sup` is when they were sent.
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

/** Seconds since 1970 after which an item may go. Never on a head, a copy, or what an open transaction needs. */
export const EXPIRY_ATTRIBUTE = 'expires'

export const HEAD_SORT_KEY = 'H'
export const versionSortKey = (versionId: number): string => `V#${nine(versionId)}`

/** The separator sorts before every character of ids, types and tenants, so that keys sort as their parts do. */
export const primaryKey = ({ tenant, type, id }: ResourceKey): string => `${encodeTenant(tenant)}#${type}#${id}`

/** Of the primary key of a head. */
export function parsePrimaryKey(pk: string): ResourceKey {
  const [tenant = '', type = '', id = ''] = pk.split('#')
  return { tenant: decodeTenant(tenant), type, id }
}

/** A key of the tenant that is no resource's: types begin with a capital and hold small letters. */
export const tenantKey = (tenant: string, ...rest: readonly string[]): string => [encodeTenant(tenant), ...rest].join('#')

/** `c`: current versions, `h`: past ones. */
export type PartitionKind = 'c' | 'h'

export const indexPartition = (tenant: string, type: string, kind: PartitionKind, shard: number): string =>
  tenantKey(tenant, type, kind, String(shard))

export function shardOf(gpk: string): number {
  return Number(gpk.slice(gpk.lastIndexOf('#') + 1))
}

const LATEST = 9_999_999_999_999

/** The place of a version in its partition: the order of HistoryPosition within a type, ascending. */
export const indexSortKey = (lastUpdated: number, id: string, versionId: number): string =>
  `${instantSortKey(lastUpdated)}#${id}#${nine(999_999_999 - versionId)}`

/** Stands before all places of the instant. */
export const instantSortKey = (lastUpdated: number): string => String(LATEST - Math.max(0, Math.min(lastUpdated, LATEST))).padStart(13, '0')

/** Stands after a place, or all places of an instant or of an instant and id, and before the next. */
export const sortKeyAfter = (some: string): string => `${some}#~`

export function parseIndexSortKey(gsk: string): { readonly lastUpdated: number; readonly id: string; readonly versionId: number } {
  const [instant, id = '', version] = gsk.split('#')
  return { lastUpdated: LATEST - Number(instant), id, versionId: 999_999_999 - Number(version) }
}

const nine = (n: number): string => String(n).padStart(9, '0')

/** A tenant's name as a part of keys, also of blobs: `~` and the code of what else they would not take. */
export const encodeTenant = (tenant: string): string =>
  tenant.replace(/[^A-Za-z0-9_-]/g, (character) => `~${character.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Of what `plain` made. */
export const decodeTenant = (plain: string): string =>
  plain.replace(/~([0-9a-f]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
