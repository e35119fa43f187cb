/** Rows as items: pk is the owner, sk the key (`name`), z the value as deflated JSON. */
import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import { checkRowKey, checkRowOwner, textOfRow } from '../../../ports/rows/row-limits.ts'
import type { Rows } from '../../../ports/rows/rows.ts'
import type { Item, Key, TableClient } from '../table-client.ts'
import { changeItem } from './changed-item.ts'

/** Maximum keys in memory while all rows of an owner are removed. */
const REMOVED_AT_ONCE = 1_000

export class DynamoDbRows implements Rows {
  readonly #dynamo: TableClient

  constructor(dynamo: TableClient) {
    this.#dynamo = dynamo
  }

  async read<Value>(owner: string, name: string): Promise<Value | undefined> {
    const item = await this.#dynamo.get(keyOf(owner, name))
    return item && FORMAT.toValue(item)
  }

  async change<Value>(owner: string, name: string, change: (value: Value | undefined) => Value | undefined): Promise<Value | undefined> {
    return changeItem<Value>(this.#dynamo, keyOf(owner, name), FORMAT, (value) => {
      const after = change(value)
      return after === undefined ? value : after
    })
  }

  async *list<Value>(owner: string): AsyncGenerator<{ readonly name: string; readonly value: Value }> {
    for await (const item of this.#dynamo.query(rowsOf(owner))) yield { name: item.sk, value: await FORMAT.toValue(item) }
  }

  async remove(owner: string, name?: string): Promise<void> {
    if (name !== undefined) await this.#dynamo.deleteAll([keyOf(owner, name)])
    else await this.#removeAll(owner)
  }

  async #removeAll(owner: string): Promise<void> {
    let some: Key[] = []
    for await (const key of this.#dynamo.query({ ...rowsOf(owner), ProjectionExpression: 'pk, sk' })) {
      some.push(key)
      if (some.length < REMOVED_AT_ONCE) continue
      await this.#dynamo.deleteAll(some)
      some = []
    }
    await this.#dynamo.deleteAll(some)
  }
}

function keyOf(owner: string, name: string): Key {
  checkRowKey(owner, name)
  return { pk: owner, sk: name }
}

function rowsOf(owner: string) {
  checkRowOwner(owner)
  return { KeyConditionExpression: 'pk = :pk', ExpressionAttributeValues: { ':pk': owner }, ConsistentRead: true }
}

/** `t`: random id of the write, by which a change recognizes its own write. */
const FORMAT = {
  version: ['t'],
  isUnique: true,
  toAttributes: async (value: unknown) => ({ t: randomUUID(), z: await promisify(deflateRaw)(textOfRow(value)) }),
  async toValue({ z }: Item) {
    const text = await promisify(inflateRaw)(z as Uint8Array)
    return JSON.parse(text.toString())
  },
}
