/** Items that name the tenants that may have resources. An item is written before the first resource of its tenant. */
import { DEFAULT_TENANT } from '../../../ports/store/tenants.ts'
import type { TableClient } from '../table-client.ts'
import { decodeTenant, encodeTenant, tenantKey } from '../table-keys.ts'

/** Partition key outside all tenants, because no tenant has an empty name. */
const PK = tenantKey('', 'TENANTS')
const PREFIX = 'N#'

export class Tenants {
  readonly #dynamo: TableClient

  constructor(dynamo: TableClient) {
    this.#dynamo = dynamo
  }

  /** Writes the item of the tenant. The default tenant needs none: tables of early versions, which had no other tenants, lack it. */
  async register(tenant: string): Promise<void> {
    if (tenant !== DEFAULT_TENANT) await this.#dynamo.updateIf({ Key: { pk: PK, sk: PREFIX + encodeTenant(tenant) } })
  }

  /** Yields the default tenant first, because it has no item. The others follow in the order of their keys. */
  async *all(): AsyncGenerator<string> {
    yield DEFAULT_TENANT
    const input = { KeyConditionExpression: 'pk = :pk', ExpressionAttributeValues: { ':pk': PK }, ConsistentRead: true }
    for await (const { sk } of this.#dynamo.query(input)) yield decodeTenant(sk.slice(PREFIX.length))
  }
}
