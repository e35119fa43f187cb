/** Which tenants there may be resources of: an item for each, which stands before the first of them does. */
import type { Write } from '../../../ports/store/resource-store.ts'
import { TENANT } from '../../../ports/store/tenants.ts'
import type { Dynamo } from '../table-client.ts'
import { plain, tenantKey, tenantOf } from '../table-keys.ts'

/** No tenant has an empty name. */
const PK = tenantKey('', 'TENANTS')
const PREFIX = 'N#'

export class Tenants {
  readonly #dynamo: Dynamo
  /** A table from before there were others has no item of it. */
  readonly #known = new Set([TENANT])

  constructor(dynamo: Dynamo) {
    this.#dynamo = dynamo
  }

  /** Before the first write of a tenant, once in a process. All writes are of one. */
  async register([first]: readonly Write[]): Promise<void> {
    if (first === undefined || this.#known.has(first.tenant)) return
    await this.#dynamo.updateIf({ Key: { pk: PK, sk: PREFIX + plain(first.tenant) } })
    this.#known.add(first.tenant)
  }

  /** In the order of their keys; the one that has no item first. */
  async *all(): AsyncGenerator<string> {
    yield TENANT
    const input = { KeyConditionExpression: 'pk = :pk', ExpressionAttributeValues: { ':pk': PK }, ConsistentRead: true }
    for await (const { sk } of this.#dynamo.query(input)) yield tenantOf(sk.slice(PREFIX.length))
  }
}
