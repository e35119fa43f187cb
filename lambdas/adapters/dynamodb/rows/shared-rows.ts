/** SharedRows on items, in the format of shared-rows-reader.ts. A write is one transaction, unless only the root changes. */
import { promisify } from 'node:util'
import { deflateRaw } from 'node:zlib'
import { isFault } from '../../../ports/faults.ts'
import { MAX_WRITTEN_ROWS, type SharedRoot, type SharedRows, type SharedWrite } from '../../../ports/rows/shared-rows.ts'
import type { Item } from '../table-client.ts'
import { pauseChange } from './changed-item.ts'
import { DynamoDbSharedRowsReader, FLOOR, groupOf, ROOT, rowKeyOf, SUMMARY } from './shared-rows-reader.ts'

export class DynamoDbSharedRows<Root, Summary> extends DynamoDbSharedRowsReader<Root, Summary> implements SharedRows<Root, Summary> {
  async write(before: SharedRoot<Root>, { root, summary, rows = [] }: SharedWrite<Root, Summary>): Promise<boolean> {
    if (rows.length > MAX_WRITTEN_ROWS) throw new RangeError(`a write has ${rows.length} rows, and at most ${MAX_WRITTEN_ROWS}`)
    const n = before.number + 1
    // After a write of an earlier release no row counts as unchanged.
    const kept = before.isForeign ? { [FLOOR]: n } : before.stamps
    const s = { ...kept, ...Object.fromEntries(rows.map(({ owner }) => [groupOf(owner), n])) }
    const itemOf = async (sk: string, value: unknown): Promise<Item> => ({ pk: this.name, sk, n, s, z: await deflate(value) })
    const condition =
      before.number === 0
        ? { ConditionExpression: 'attribute_not_exists(pk)' }
        : { ConditionExpression: 'n = :expected', ExpressionAttributeValues: { ':expected': before.number } }
    const Item = await itemOf(ROOT, root)
    if (summary === undefined) return (await this.dynamo.putIf({ Item, ...condition })).done
    const TableName = this.dynamo.table
    const changes = rows.map(async ({ value, ...name }) => {
      const Key = rowKeyOf(this.name, name)
      return value === undefined ? { Delete: { TableName, Key } } : { Put: { TableName, Item: { ...Key, z: await deflate(value) } } }
    })
    try {
      const outcome = await this.dynamo.transact([
        { Put: { TableName, Item, ...condition } },
        { Put: { TableName, Item: await itemOf(SUMMARY, summary) } },
        ...(await Promise.all(changes)),
      ])
      return outcome === 'done'
    } catch (error) {
      // Another write of the same items was in progress in every attempt.
      if (isFault(error, 'refused')) return false
      throw error
    }
  }

  readonly pause = pauseChange
}

const deflate = (value: unknown): Promise<Uint8Array> => promisify(deflateRaw)(JSON.stringify(value))
