/** Tenants that may have resources, with an item for each. The item exists before the first resource of the tenant. */
import type { Write } from '../../../ports/store/resource-store.ts'
import { DEFAULT_TENANT } from '../../../ports/store/tenants.ts'
import type { TableClient } from '../table-client.ts'
import { decodeTenant, encodeTenant, tenantKey } from '../table-keys.ts'

/** Partition key outside all tenants, because no tenant has an empty name. */
const PK = tenantKey('', 'TENANTS')
const PREFIX = 'N#'

export class Tenants {
  readonly #dynamo: TableClient
  /** The default tenant has no item: tables created before there were other tenants lack it. */
  readonly #known = new Set([DEFAULT_TENANT])

  constructor(dynamo: TableClient) {
    this.#dynamo = dynamo
  }

  /** Registers the tenant before its first write, once per process. All writes of a call belong to one tenant. */
  async register([first]: readonly Write[]): Promise<void> {
    if (first === undefined || this.#known.has(first.tenant)) return
    await this.#dynamo.updateIf({ Key: { pk: PK, sk: PREFIX + encodeTenant(first.tenant) } })
    this.#known.add(first.tenant)
  }

  /** Yields the default tenant first, because it has no item. The others follow in the order of their keys. */
  async *all(): AsyncGenerator<string> {
    yield DEFAULT_TENANT
    const input = { KeyConditionExpression: 'pk = :pk', ExpressionAttributeValues: { ':pk': PK }, ConsistentRead: true }
    for await (const { sk } of this.#dynamo.query(input)) yield decodeTenant(sk.slice(PREFIX.length))
  }
}
