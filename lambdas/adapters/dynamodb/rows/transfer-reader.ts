/** Reads the transfers of a year from the state table, month by month. */
import { forEachInParallel } from '../../../ports/execution/parallel.ts'
import type { Transfer, TransferReader } from '../../../ports/security/transfers.ts'
import type { TableClient } from '../table-client.ts'
import { TRANSFER_PARTITIONS, transferIn, transferPartitionOf } from './transfer-items.ts'

const MONTHS = Array.from({ length: 12 }, (_, i) => String(i + 1).padStart(2, '0'))
/** Partitions that are read at once. */
const PARALLEL = 16

export class DynamoDbTransferReader implements TransferReader {
  readonly #dynamo: TableClient

  constructor(dynamo: TableClient) {
    this.#dynamo = dynamo
  }

  async *read(year: number): AsyncGenerator<Transfer> {
    for (const month of MONTHS) yield* await this.#readMonth(`${year}-${month}`)
  }

  async #readMonth(month: string): Promise<readonly Transfer[]> {
    const found: Transfer[] = []
    const partitions = Array.from({ length: TRANSFER_PARTITIONS }, (_, i) => transferPartitionOf(month, i))
    await forEachInParallel(partitions, PARALLEL, async (partition) => {
      const input = { KeyConditionExpression: 'pk = :pk', ExpressionAttributeValues: { ':pk': partition } }
      for await (const item of this.#dynamo.query(input)) found.push(transferIn(item))
    })
    return found
  }
}
