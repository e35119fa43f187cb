/**
 * Audit records as items that expire. The records of each minute are spread over 64 partitions, because one partition accepts 1,000 writes
 * per second.
 */
import { forEachInParallel } from '../../../ports/execution/parallel.ts'
import { MachineFault } from '../../../ports/faults.ts'
import type { AuditDurability, AuditLog, AuditRecord } from '../../../ports/security/audit-log.ts'
import type { AuditFilter, AuditReader, Period } from '../../../ports/security/audit-reader.ts'
import { type AuditSource, type AuditTest, readAuditMinutes, type StoredAuditRecord } from '../../../ports/security/audit-source.ts'
import { hashOf } from '../../../ports/store/fnv-hash.ts'
import { AUDIT_PARTITION, auditRecordOf, auditSortKeyOf } from '../audit-items.ts'
import type { Item, TableClient } from '../table-client.ts'
import { EXPIRY_ATTRIBUTE } from '../table-keys.ts'

export type DynamoDbAuditLogOptions = {
  readonly dynamo: TableClient
  readonly retentionDays: number
  readonly durability: AuditDurability
  readonly newId: () => string
  /** Receives each error of a write, with the records whose first write failed, as table items. The log retries these records itself. */
  readonly onError: (error: unknown, unwritten: readonly Item[]) => void
}

const DAY = 24 * 60 * 60
/** Partitions for the records of each minute. */
export const AUDIT_PARTITIONS = 64
/** Maximum records retained for a retry. Above it the oldest are dropped. */
const MOST_HELD = 10_000

export class DynamoDbAuditLog implements AuditLog {
  readonly #options: DynamoDbAuditLogOptions
  #waiting: Item[] = []
  /** Records that could not be written. `onError` has received them. */
  #held: readonly Item[] = []
  /** Chain of the writes, which run one after the other. Resolves to whether the last one succeeded. */
  #writing: Promise<boolean> = Promise.resolve(true)

  constructor(options: DynamoDbAuditLogOptions) {
    this.#options = options
  }

  /**
   * With `strict` durability, retries the records that could not be written before. Throws the fault `not-recorded` if that fails, so that
   * the request fails before it changes anything.
   */
  prepare(): Promise<void> | undefined {
    return this.#isStrict && this.#held.length > 0 ? this.#writeOrFail() : undefined
  }

  record(...records: readonly AuditRecord[]): Promise<void> | undefined {
    this.#waiting.push(...records.map((each) => this.#itemOf(each)))
    return this.#isStrict ? this.#writeOrFail() : undefined
  }

  #itemOf(record: AuditRecord): Item {
    const at = new Date(record.at).toISOString()
    const id = this.#options.newId()
    return {
      pk: partitionOf(record.at, hashOf(id) % AUDIT_PARTITIONS),
      sk: auditSortKeyOf(at, record.requestId, id),
      ...record,
      at,
      [EXPIRY_ATTRIBUTE]: Math.floor(record.at / 1000) + this.#options.retentionDays * DAY,
    }
  }

  /**
   * Resolves when the pending records are written or reported to `onError`. A Lambda function calls it before it returns, because it is
   * frozen between requests.
   */
  async flush(): Promise<void> {
    await (this.#isStrict ? this.#writing : this.#writeAll())
  }

  async close(): Promise<void> {
    await this.#writeAll()
  }

  get #isStrict(): boolean {
    return this.#options.durability === 'strict'
  }

  async #writeOrFail(): Promise<void> {
    if (!(await this.#writeAll())) throw new MachineFault('not-recorded', 'audit records cannot be written')
  }

  /** Writes all records that are pending when the write begins. Later records are part of the next write. */
  #writeAll(): Promise<boolean> {
    this.#writing = this.#writing.then(() => this.#write())
    return this.#writing
  }

  async #write(): Promise<boolean> {
    const untold = this.#waiting
    this.#waiting = []
    const items = [...this.#held, ...untold]
    try {
      if (untold.some(({ transfer }) => transfer)) items.push(...(await import('./transfer-items.ts')).newTransferItems(this, untold))
      if (items.length > 0) await this.#options.dynamo.putAll(items)
      this.#held = []
      return true
    } catch (error) {
      this.#options.onError(error, untold)
      this.#held = items.slice(-MOST_HELD)
      return false
    }
  }
}

/** Reads audit records minute by minute. Each minute costs at least half a read unit for each of its partitions. */
export class DynamoDbAuditReader implements AuditReader, AuditSource {
  readonly #dynamo: TableClient

  constructor(dynamo: TableClient) {
    this.#dynamo = dynamo
  }

  read(period: Period, filter: AuditFilter): AsyncGenerator<AuditRecord> {
    return readAuditMinutes([this], period, filter)
  }

  async readMinute(minute: number, isWanted: AuditTest): Promise<readonly StoredAuditRecord[]> {
    const partitions = Array.from({ length: AUDIT_PARTITIONS }, (_, i) => i)
    const found: StoredAuditRecord[] = []
    await forEachInParallel(partitions, AUDIT_PARTITIONS, async (partition) => {
      const input = { KeyConditionExpression: 'pk = :pk', ExpressionAttributeValues: { ':pk': partitionOf(minute, partition) } }
      for await (const item of this.#dynamo.query(input)) {
        const stored = auditRecordOf(item)
        if (isWanted(stored.record)) found.push(stored)
      }
    })
    return found
  }
}

/** Returns the partition key of the records of a minute. `partition`: 0 to 63. */
const partitionOf = (at: number, partition: number): string => `${AUDIT_PARTITION}${new Date(at).toISOString().slice(0, 16)}#${partition}`
