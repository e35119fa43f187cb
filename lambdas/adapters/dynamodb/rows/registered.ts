/** Clients and users as items by name, in one partition each (CLIENTS, USERS). Changes are compare-and-set. */
import { randomUUID } from 'node:crypto'
import { type Client, type Clients, isClientId } from '../../../ports/rows/clients.ts'
import { isUserName, type User, type Users } from '../../../ports/rows/users.ts'
import { pause } from '../retry.ts'
import type { TableClient } from '../table-client.ts'

const ATTEMPTS = 30

type Parts<Entry> = {
  readonly pk: string
  readonly isName: (text: string) => boolean
  readonly nameOf: (entry: Entry) => string
}

/** `op`: id of the change that wrote the entry. A writer that lost the response recognizes its own change by it. */
type Found<Entry> = { readonly entry: Entry; readonly op: string }

class DynamoDbRegistered<Entry> {
  readonly #dynamo: TableClient
  readonly #parts: Parts<Entry>

  constructor(dynamo: TableClient, parts: Parts<Entry>) {
    this.#dynamo = dynamo
    this.#parts = parts
  }

  async get(name: string): Promise<Entry | undefined> {
    return this.#parts.isName(name) ? (await this.#find(name))?.entry : undefined
  }

  async list(): Promise<readonly Entry[]> {
    const found: Entry[] = []
    const all = { KeyConditionExpression: 'pk = :pk', ExpressionAttributeValues: { ':pk': this.#parts.pk }, ConsistentRead: true }
    for await (const item of this.#dynamo.query(all)) found.push(JSON.parse(item.json as string))
    return found
  }

  async change(name: string, change: (entry: Entry | undefined) => Entry | undefined): Promise<Entry | undefined> {
    const { isName, nameOf, pk } = this.#parts
    if (!isName(name)) throw new RangeError(`Nothing in ${pk} can be called so`)
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const found = await this.#find(name)
      const after = change(found?.entry)
      if (after === found?.entry) return after
      if (after !== undefined && nameOf(after) !== name) throw new RangeError('A name stays')
      if (await this.#replace(name, found, after)) return after
      await pause(attempt)
    }
    throw new Error(`others kept changing an entry of ${pk}`)
  }

  async #find(name: string): Promise<Found<Entry> | undefined> {
    const item = await this.#dynamo.get({ pk: this.#parts.pk, sk: name })
    return item === undefined ? undefined : { entry: JSON.parse(item.json as string), op: item.op as string }
  }

  async #replace(name: string, found: Found<Entry> | undefined, after: Entry | undefined): Promise<boolean> {
    const key = { pk: this.#parts.pk, sk: name }
    const op = randomUUID()
    const condition =
      found === undefined
        ? { ConditionExpression: 'attribute_not_exists(pk)' }
        : { ConditionExpression: 'op = :op', ExpressionAttributeValues: { ':op': found.op } }
    const outcome =
      after === undefined
        ? await this.#dynamo.deleteIf({ Key: key, ...condition })
        : await this.#dynamo.putIf({ Item: { ...key, op, json: JSON.stringify(after) }, ...condition })
    // guard: repeated-registration-is-recognised
    return outcome.done || outcome.met?.op === op
  }
}

export class DynamoDbClients extends DynamoDbRegistered<Client> implements Clients {
  constructor(dynamo: TableClient) {
    super(dynamo, { pk: 'CLIENTS', isName: isClientId, nameOf: ({ id }) => id })
  }
}

export class DynamoDbUsers extends DynamoDbRegistered<User> implements Users {
  constructor(dynamo: TableClient) {
    super(dynamo, { pk: 'USERS', isName: isUserName, nameOf: ({ name }) => name })
  }
}
