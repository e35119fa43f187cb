/** Which tenants there may be resources of: an item for each, which stands before the first of them does. */
import type { Write } from '../../../ports/store/resource-store.ts'
import { DEFAULT_TENANT } from '../../../ports/store/tenants.ts'
import type { TableClient } from '../table-client.ts'
import { decodeTenant, encodeTenant, tenantKey } from '../table-keys.ts'

/** No tenant has an empty name. */
const PK = tenantKey('', 'TENANTS')
const PREFIX = 'N#'

export class Tenants {
  readonly #dynamo: TableClient
  /** A table from before there were others has no item of it. */
  readonly #known = new Set([DEFAULT_TENANT])

  constructor(dynamo: TableClient) {
    this.#dynamo = dynamo
  }

  /** Before the first write of a tenant, once in a process. All writes are of one. */
  async register([first]: readonly Write[]): Promise<void> {
    if (first === undefined || this.#known.has(first.tenant)) return
    await this.#dynamo.updateIf({ Key: { pk: PK, sk: PREFIX + encodeTenant(first.tenant) } })
    this.#known.add(first.tenant)
  }

  /** In the order of their keys; the one that has no item first. */
  async *all(): AsyncGenerator<string> {
    yield DEFAULT_TENANT
    const input = { KeyConditionExpression: 'pk = :pk', ExpressionAttributeValues: { ':pk': PK }, ConsistentRead: true }
    for await (const { sk } of this.#dynamo.query(input)) yield decodeTenant(sk.slice(PREFIX.length))
  }
}
