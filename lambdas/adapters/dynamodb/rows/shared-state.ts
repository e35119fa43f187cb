/** SharedState as one deflated item, changed by compare-and-set. */
import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import type { SharedState, VersionedValue } from '../../../ports/rows/shared-state.ts'
import { pause } from '../retry.ts'
import type { TableClient } from '../table-client.ts'

const SORT = 'S'
const ATTEMPTS = 30

export class DynamoDbSharedState<Value> implements SharedState<Value> {
  readonly #dynamo: TableClient
  readonly #key: { readonly pk: string; readonly sk: string }
  readonly #initial: Value

  /** `initial`: value before the first change. */
  constructor(dynamo: TableClient, name: string, initial: Value) {
    this.#dynamo = dynamo
    this.#key = { pk: name, sk: SORT }
    this.#initial = initial
  }

  async read(): Promise<VersionedValue<Value>> {
    const item = await this.#dynamo.get(this.#key)
    if (item === undefined) return { number: 0, value: this.#initial }
    const text = await promisify(inflateRaw)(item.z as Uint8Array)
    return { number: item.n as number, value: JSON.parse(text.toString()) as Value }
  }

  async change(change: (value: Value) => Value): Promise<VersionedValue<Value>> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const before = await this.read()
      const value = change(before.value)
      if (value === before.value) return before
      const number = before.number + 1
      if (await this.#replace(before.number, { number, value })) return { number, value }
      await pause(attempt)
    }
    throw new Error(`others kept changing ${this.#key.pk}`)
  }

  /**
   * Replaces the value if it is unchanged. A lost response looks like a race: the next attempt finds the change done, or applies it again.
   */
  async #replace(expected: number, { number, value }: VersionedValue<Value>): Promise<boolean> {
    const z = await promisify(deflateRaw)(JSON.stringify(value))
    const condition =
      expected === 0
        ? { ConditionExpression: 'attribute_not_exists(pk)' }
        : { ConditionExpression: 'n = :expected', ExpressionAttributeValues: { ':expected': expected } }
    const { done } = await this.#dynamo.putIf({ Item: { ...this.#key, n: number, z }, ...condition })
    return done
  }
}
