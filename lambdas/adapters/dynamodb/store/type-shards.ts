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

  /**
   * Writes the items of the types, with the number of index partitions, before the first commit of this process for each. All writes belong
   * to one tenant. `registerTenant`: called before the first item of a tenant. Reads the items first: hundreds of processes start at the same
   * time, and their writes would share one partition key.
   */
  async register(writes: readonly Write[], registerTenant: (tenant: string) => Promise<void>): Promise<void> {
    const unknown = [...new Map(writes.map(({ tenant, type }) => [nameOf(tenant, type), { tenant, type }]))].filter(
      ([name]) => !this.#known.has(name),
    )
    if (unknown.length === 0) return
    const { tenant } = unknown[0]![1]
    const registered = await this.#registered(tenant)
    if (registered.size === 0) await registerTenant(tenant)
    for (const [, { type }] of unknown) if ((registered.get(type) ?? 0) < this.#shards(type)) await this.#write(tenant, type)
    if (this.#known.size > MOST_KNOWN) this.#known.clear()
    for (const [name] of unknown) this.#known.add(name)
    for (const [type, shards] of registered) if (shards >= this.#shards(type)) this.#known.add(nameOf(tenant, type))
  }

  /** Writes the item of a type unless it has this number of partitions or more. */
  #write(tenant: string, type: string): Promise<unknown> {
    return this.#dynamo.updateIf({
      Key: keyOf(tenant, type),
      UpdateExpression: 'SET shards = :shards',
      ConditionExpression: 'attribute_not_exists(shards) OR shards < :shards',
      ExpressionAttributeValues: { ':shards': this.#shards(type) },
    })
  }

  /**
   * Returns the index partitions of one type, or of all types of a tenant. A type has as many as the highest number that any writer
   * registered.
   */
  async sources(tenant: string, type?: string): Promise<readonly IndexSource[]> {
    const counts = await this.#registered(tenant, type)
    return [...counts].flatMap(([each, shards]) => Array.from({ length: shards }, (_, shard) => ({ tenant, type: each, shard })))
  }

  /** Returns the number of index partitions of each type, or of one type. */
  async #registered(tenant: string, type?: string): Promise<ReadonlyMap<string, number>> {
    const counts = new Map<string, number>()
    const { pk, sk } = keyOf(tenant, type ?? '')
    for await (const item of this.#dynamo.query({
      KeyConditionExpression: type === undefined ? 'pk = :pk AND begins_with(sk, :sk)' : 'pk = :pk AND sk = :sk',
      ExpressionAttributeValues: { ':pk': pk, ':sk': sk },
      ConsistentRead: true,
    }))
      counts.set(item.sk.slice(PREFIX.length), item.shards as number)
    return counts
  }
}

const PREFIX = 'T#'
const keyOf = (tenant: string, type: string) => ({ pk: tenantKey(tenant, 'CFG'), sk: `${PREFIX}${type}` })
const nameOf = (tenant: string, type: string): string => `${tenant} ${type}`

/** Types of tenants that a process remembers as registered. Above it, it forgets them and reads their items again. */
const MOST_KNOWN = 100_000
