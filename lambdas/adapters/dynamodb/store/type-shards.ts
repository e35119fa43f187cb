/** Which types a tenant has resources of, and over how many partitions of the index each is spread. */
import type { Write } from '../../../ports/store/resource-store.ts'
import type { TableClient } from '../table-client.ts'
import { tenantKey } from '../table-keys.ts'
import type { IndexSource } from './index-windows.ts'

/** How many partitions of the index a type is spread over: 1,000 writes a second each. May only grow. */
export type ShardCounts = (type: string) => number

export class TypeShards {
  readonly #dynamo: TableClient
  readonly #shards: ShardCounts
  readonly #known = new Set<string>()

  constructor(dynamo: TableClient, shards: ShardCounts) {
    this.#dynamo = dynamo
    this.#shards = shards
  }

  /** Before the first write of a type, once in a process. */
  async register(writes: readonly Write[]): Promise<void> {
    for (const { tenant, type } of writes) {
      const key = keyOf(tenant, type)
      if (this.#known.has(`${key.pk} ${key.sk}`)) continue
      await this.#dynamo.updateIf({
        Key: key,
        UpdateExpression: 'SET shards = :shards',
        ConditionExpression: 'attribute_not_exists(shards) OR shards < :shards',
        ExpressionAttributeValues: { ':shards': this.#shards(type) },
      })
      this.#known.add(`${key.pk} ${key.sk}`)
    }
  }

  /** The sources of the index for one type, or all of a tenant; as many as any writer ever used. */
  async sources(tenant: string, type?: string): Promise<readonly IndexSource[]> {
    const sources: IndexSource[] = []
    const { pk, sk } = keyOf(tenant, type ?? '')
    const expression = type === undefined ? 'pk = :pk AND begins_with(sk, :sk)' : 'pk = :pk AND sk = :sk'
    for await (const item of this.#dynamo.query({
      KeyConditionExpression: expression,
      ExpressionAttributeValues: { ':pk': pk, ':sk': sk },
      ConsistentRead: true,
    }))
      for (let shard = 0; shard < (item.shards as number); shard++) sources.push({ tenant, type: item.sk.slice(PREFIX.length), shard })
    return sources
  }
}

const PREFIX = 'T#'
const keyOf = (tenant: string, type: string) => ({ pk: tenantKey(tenant, 'CFG'), sk: `${PREFIX}${type}` })
