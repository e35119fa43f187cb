/**
 * The one table: heads, superseded versions, guards, transaction records, types of a tenant.
 *
 *   pk tenant#Type#id      sk H            the current version: vid lu del cmp z|blob, and ptx p… while a transaction has staged the next
 *                          sk V#000000001  a superseded version, with sup, the instant its successor was stamped
 *                          sk P#tx         the staged version, where it does not fit beside the head
 *   pk tenant#UNQ#guard    sk U            rtype rid: the resource a guard is bound to
 *   pk tenant#TXN#tx       sk T, M#0001 …  state deadline, and the keys the transaction stages
 *   pk tenant#CFG          sk T#Type       a type the tenant has resources of
 *
 * gsi1 holds heads (gpk …#c#shard) and superseded versions (…#h#shard) of a type by lastUpdated, and open transactions by deadline.
 */
import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb'

export const INDEX = 'gsi1'

const text = (name: string) => ({ AttributeName: name, AttributeType: 'S' }) as const

export const TABLE = {
  BillingMode: 'PAY_PER_REQUEST',
  AttributeDefinitions: ['pk', 'sk', 'gpk', 'gsk'].map(text),
  KeySchema: [
    { AttributeName: 'pk', KeyType: 'HASH' },
    { AttributeName: 'sk', KeyType: 'RANGE' },
  ],
  GlobalSecondaryIndexes: [
    {
      IndexName: INDEX,
      KeySchema: [
        { AttributeName: 'gpk', KeyType: 'HASH' },
        { AttributeName: 'gsk', KeyType: 'RANGE' },
      ],
      Projection: { ProjectionType: 'INCLUDE', NonKeyAttributes: ['vid', 'del', 'sup'] },
    },
  ],
} satisfies Omit<CreateTableCommandInput, 'TableName'>

/** How many partitions of the index a type is spread over: 1,000 writes a second each. May only grow. */
export type Shards = (type: string) => number

export const HEAD = 'H'
export const versionSort = (versionId: number): string => `V#${String(versionId).padStart(9, '0')}`
export const pendingSort = (transaction: string): string => `P#${transaction}`

/** FNV-1a: the same in every process. http://www.isthe.com/chongo/tech/comp/fnv/ */
export function hashOf(id: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193)
  return hash >>> 0
}

/** `c`: current versions, `h`: superseded ones. */
export const partition = (tenant: string, type: string, kind: 'c' | 'h', shard: number): string => `${tenant}#${type}#${kind}#${shard}`
