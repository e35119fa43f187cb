/** Items that name the types of which a tenant may have resources, with the number of index partitions of each type. */
import type { Write } from '../../../ports/store/resource-store.ts'
import type { TableClient } from '../table-client.ts'
import { tenantKey } from '../table-keys.ts'
import type { IndexSource } from './index-windows.ts'

/**
 * Returns the number of index partitions of a type. Each accepts 1,000 writes per second. The number must never shrink, because readers
 * would miss the others.
 */
export type ShardCounts = (type: string) => number

export class TypeShards {
  readonly #dynamo: TableClient
  readonly #shards: ShardCounts
  readonly #known = new Set<string>()

  constructor(dynamo: TableClient, shards: ShardCounts) {
    this.#dynamo = dynamo
    this.#shards = shards
  }

  /** Writes the items of the types, and the number of index partitions, before the first commit of this process for each. */
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

  /**
   * Returns the index partitions of one type, or of all types of a tenant. A type has as many as the highest number that any writer
   * registered.
   */
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
