/**
 * Rows as items: pk is the owner (`shelf`), sk the key (`name`), z the deflated value. Each write sets a new random t, on which
 * compare-and-set is based.
 */
import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import { checkRowKey, checkRowOwner, textOfRow } from '../../../ports/rows/row-limits.ts'
import type { Rows } from '../../../ports/rows/rows.ts'
import { pause } from '../retry.ts'
import type { Item, Key, TableClient } from '../table-client.ts'

const ATTEMPTS = 30
/** Maximum keys that are collected before they are removed. */
const REMOVED_AT_ONCE = 1_000

export class DynamoDbRows implements Rows {
  readonly #dynamo: TableClient

  constructor(dynamo: TableClient) {
    this.#dynamo = dynamo
  }

  async read<Value>(shelf: string, name: string): Promise<Value | undefined> {
    return valueIn<Value>(await this.#dynamo.get(keyOf(shelf, name)))
  }

  async change<Value>(shelf: string, name: string, change: (value: Value | undefined) => Value | undefined): Promise<Value | undefined> {
    const key = keyOf(shelf, name)
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const before = await this.#dynamo.get(key)
      const known = await valueIn<Value>(before)
      const value = change(known)
      if (value === undefined || value === known) return known
      const after = textOfRow(value)
      if (await this.#replace(key, before, after)) return JSON.parse(after) as Value
      await pause(attempt)
    }
    throw new Error(`others kept changing a row of ${shelf}`)
  }

  async *list<Value>(shelf: string): AsyncGenerator<{ readonly name: string; readonly value: Value }> {
    for await (const item of this.#dynamo.query(rowsOf(shelf))) yield { name: item.sk, value: (await valueIn<Value>(item))! }
  }

  async remove(shelf: string, name?: string): Promise<void> {
    if (name !== undefined) await this.#dynamo.deleteAll([keyOf(shelf, name)])
    else await this.#removeAll(shelf)
  }

  async #removeAll(shelf: string): Promise<void> {
    let some: Key[] = []
    for await (const key of this.#dynamo.query({ ...rowsOf(shelf), ProjectionExpression: 'pk, sk' })) {
      some.push(key)
      if (some.length < REMOVED_AT_ONCE) continue
      await this.#dynamo.deleteAll(some)
      some = []
    }
    await this.#dynamo.deleteAll(some)
  }

  /** Replaces the row if it is unchanged. A repeated write recognizes itself by its own t after a lost response. */
  async #replace(key: Key, before: Item | undefined, after: string): Promise<boolean> {
    const t = randomUUID()
    const condition =
      before === undefined
        ? { ConditionExpression: 'attribute_not_exists(pk)' }
        : { ConditionExpression: 't = :t', ExpressionAttributeValues: { ':t': before.t } }
    const outcome = await this.#dynamo.putIf({ Item: { ...key, t, z: await promisify(deflateRaw)(after) }, ...condition })
    // guard: repeated-row-change-is-recognised
    return outcome.done || outcome.met?.t === t
  }
}

function keyOf(shelf: string, name: string): Key {
  checkRowKey(shelf, name)
  return { pk: shelf, sk: name }
}

function rowsOf(shelf: string) {
  checkRowOwner(shelf)
  return { KeyConditionExpression: 'pk = :pk', ExpressionAttributeValues: { ':pk': shelf }, ConsistentRead: true }
}

async function valueIn<Value>(item: Item | undefined): Promise<Value | undefined> {
  if (item === undefined) return undefined
  const text = await promisify(inflateRaw)(item.z as Uint8Array)
  return JSON.parse(text.toString()) as Value
}
