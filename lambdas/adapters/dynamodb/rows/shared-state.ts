/** SharedState as one item: n, the number of the change; z, the value as deflated JSON. */
import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import type { SharedState, VersionedValue } from '../../../ports/rows/shared-state.ts'
import type { Item, Key, TableClient } from '../table-client.ts'
import { changeItem } from './changed-item.ts'

export class DynamoDbSharedState<Value> implements SharedState<Value> {
  readonly #dynamo: TableClient
  readonly #key: Key
  readonly #initial: VersionedValue<Value>

  /** `initial`: value before the first change. */
  constructor(dynamo: TableClient, name: string, initial: Value) {
    this.#dynamo = dynamo
    this.#key = { pk: name, sk: 'S' }
    this.#initial = { number: 0, value: initial }
  }

  async read(): Promise<VersionedValue<Value>> {
    const item = await this.#dynamo.get(this.#key)
    return item === undefined ? this.#initial : FORMAT.toValue(item)
  }

  /**
   * Requires an idempotent `change`. If the response of a write is lost, the next attempt calls it again with the value that it returned.
   */
  async change(change: (value: Value) => Value): Promise<VersionedValue<Value>> {
    const after = await changeItem<VersionedValue<Value>>(this.#dynamo, this.#key, FORMAT, (known) => {
      const { number, value } = known ?? this.#initial
      const next = change(value)
      return next === value ? known : { number: number + 1, value: next }
    })
    return after ?? this.#initial
  }
}

const FORMAT = {
  version: ['n'],
  isUnique: false,
  toAttributes: async ({ number, value }: VersionedValue<unknown>) => ({
    n: number,
    z: await promisify(deflateRaw)(JSON.stringify(value)),
  }),
  async toValue({ n, z }: Item) {
    const text = await promisify(inflateRaw)(z as Uint8Array)
    return { number: n as number, value: JSON.parse(text.toString()) }
  },
}
