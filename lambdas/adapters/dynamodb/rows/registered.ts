/** Clients and users as items. All clients are in the partition CLIENTS, all users in USERS; the sort key is the name. */
import { randomUUID } from 'node:crypto'
import { type Client, type Clients, isClientId } from '../../../ports/rows/clients.ts'
import { readClient, writeClient } from '../../../ports/rows/stored-client.ts'
import { isUserName, type User, type Users } from '../../../ports/rows/users.ts'
import type { Item, TableClient } from '../table-client.ts'
import { changeItem } from './changed-item.ts'

type Parts<Entry> = {
  readonly pk: string
  readonly isName: (text: string) => boolean
  readonly nameOf: (entry: Entry) => string
  readonly read: (json: string) => Entry
  readonly write: (entry: Entry) => string
}

class DynamoDbRegistered<Entry> {
  readonly #dynamo: TableClient
  readonly #parts: Parts<Entry>

  constructor(dynamo: TableClient, parts: Parts<Entry>) {
    this.#dynamo = dynamo
    this.#parts = parts
  }

  async get(name: string): Promise<Entry | undefined> {
    const { pk, isName } = this.#parts
    const item = isName(name) ? await this.#dynamo.get({ pk, sk: name }) : undefined
    return item && this.#entryIn(item)
  }

  async list(): Promise<readonly Entry[]> {
    const found: Entry[] = []
    const all = { KeyConditionExpression: 'pk = :pk', ExpressionAttributeValues: { ':pk': this.#parts.pk }, ConsistentRead: true }
    for await (const item of this.#dynamo.query(all)) found.push(this.#entryIn(item))
    return found
  }

  async change(name: string, change: (entry: Entry | undefined) => Entry | undefined): Promise<Entry | undefined> {
    const { isName, nameOf, pk } = this.#parts
    if (!isName(name)) throw new RangeError(`Nothing in ${pk} can be called so`)
    return changeItem<Entry>(this.#dynamo, { pk, sk: name }, this.#format, (entry) => {
      const after = change(entry)
      if (after !== undefined && after !== entry && nameOf(after) !== name) throw new RangeError('A name stays')
      return after
    })
  }

  readonly #entryIn = ({ json }: Item): Entry => this.#parts.read(json as string)

  /** `op`: random id of the write, by which a change recognizes its own write. */
  readonly #format = {
    version: ['op'],
    isUnique: true,
    toAttributes: async (entry: Entry) => ({ op: randomUUID(), json: this.#parts.write(entry) }),
    toValue: async (item: Item) => this.#entryIn(item),
  }
}

export class DynamoDbClients extends DynamoDbRegistered<Client> implements Clients {
  constructor(dynamo: TableClient) {
    super(dynamo, { pk: 'CLIENTS', isName: isClientId, nameOf: ({ id }) => id, read: readClient, write: writeClient })
  }
}

export class DynamoDbUsers extends DynamoDbRegistered<User> implements Users {
  constructor(dynamo: TableClient) {
    super(dynamo, { pk: 'USERS', isName: isUserName, nameOf: ({ name }) => name, read: JSON.parse, write: JSON.stringify })
  }
}
