/** SharedState as one item: n, the number of the change; z, the value as deflated JSON. */
import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import { changeValue } from '../../../ports/rows/change.ts'
import type { SharedState, VersionedValue } from '../../../ports/rows/shared-state.ts'
import type { TableClient } from '../table-client.ts'
import { pauseChange } from './changed-item.ts'

export class DynamoDbSharedState<Value> implements SharedState<Value> {
  readonly #dynamo: TableClient
  readonly #key: { readonly pk: string; readonly sk: string }
  readonly #initial: VersionedValue<Value>

  /** `initial`: value before the first change. */
  constructor(dynamo: TableClient, name: string, initial: Value) {
    this.#dynamo = dynamo
    this.#key = { pk: name, sk: 'S' }
    this.#initial = { number: 0, value: initial }
  }

  async read(): Promise<VersionedValue<Value>> {
    const item = await this.#dynamo.get(this.#key)
    if (item === undefined) return this.#initial
    const text = await promisify(inflateRaw)(item.z as Uint8Array)
    return { number: item.n as number, value: JSON.parse(text.toString()) as Value }
  }

  /**
   * Requires an idempotent `change`. If the response of a write is lost, the next attempt calls it again with the value that it returned.
   */
  async change(change: (value: Value) => Value): Promise<VersionedValue<Value>> {
    const read = async () => ({ value: await this.read() })
    const write = (after: VersionedValue<Value> | undefined, before: { readonly value: VersionedValue<Value> }) =>
      this.#replace(before.value.number, after!)
    const after = await changeValue({ read, write, pause: pauseChange }, (before) => {
      const value = change(before!.value)
      return value === before!.value ? before : { number: before!.number + 1, value }
    })
    return after!
  }

  /** Replaces the value. Returns false if it has changed since it had the number `expected`. */
  async #replace(expected: number, { number, value }: VersionedValue<Value>): Promise<boolean> {
    const z = await promisify(deflateRaw)(JSON.stringify(value))
    const condition =
      expected === 0
        ? { ConditionExpression: 'attribute_not_exists(pk)' }
        : { ConditionExpression: 'n = :expected', ExpressionAttributeValues: { ':expected': expected } }
    return (await this.#dynamo.putIf({ Item: { ...this.#key, n: number, z }, ...condition })).done
  }
}
