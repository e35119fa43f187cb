/** Audit records as items that expire, by minute and spread over partitions. */
import { MachineFault } from '../../../ports/faults.ts'
import type { AuditDurability, AuditLog, AuditRecord } from '../../../ports/security/audit-log.ts'
import { hashOf } from '../../../ports/store/fnv-hash.ts'
import type { Item, TableClient } from '../table-client.ts'
import { EXPIRY_ATTRIBUTE } from '../table-keys.ts'

export type DynamoDbAuditLogOptions = {
  readonly dynamo: TableClient
  readonly retentionDays: number
  readonly durability: AuditDurability
  readonly newId: () => string
  /** Receives the error and the records that could not be written, as table items and each once. The log retains and retries them. */
  readonly onError: (error: unknown, unwritten: readonly Item[]) => void
}

const DAY = 24 * 60 * 60
/** Partitions of each minute. One partition accepts 1,000 records per second. */
const PARTITIONS = 64
/** Maximum records held while the table rejects them. Above it the oldest are dropped. */
const MOST_HELD = 10_000

export class DynamoDbAuditLog implements AuditLog {
  readonly #options: DynamoDbAuditLogOptions
  #waiting: Item[] = []
  /** Records that the table rejected, already reported to `onError`. */
  #held: readonly Item[] = []
  /** Runs the writes one after the other. Resolves to whether the last one succeeded. */
  #writing: Promise<boolean> = Promise.resolve(true)

  constructor(options: DynamoDbAuditLogOptions) {
    this.#options = options
  }

  /** Retries the records that could not be written before, so that a strict request fails before it changes anything. */
  prepare(): Promise<void> | undefined {
    return this.#isStrict && this.#held.length > 0 ? this.#writeOrFail() : undefined
  }

  record(...records: readonly AuditRecord[]): Promise<void> | undefined {
    this.#waiting.push(...records.map((each) => this.#itemOf(each)))
    return this.#isStrict ? this.#writeOrFail() : undefined
  }

  #itemOf(record: AuditRecord): Item {
    const at = new Date(record.at).toISOString()
    // Several requests may have the same id, because clients choose it.
    const id = this.#options.newId()
    return {
      pk: `AUDIT#${at.slice(0, 16)}#${hashOf(id) % PARTITIONS}`,
      sk: `${at}#${record.requestId}#${id}`,
      ...record,
      at,
      [EXPIRY_ATTRIBUTE]: Math.floor(record.at / 1000) + this.#options.retentionDays * DAY,
    }
  }

  /** Resolves when the batched records are written or reported to `onError`. For a process that sleeps between requests. */
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

  /** Writes the records that wait when the write begins. Later records are part of the next write. */
  #writeAll(): Promise<boolean> {
    this.#writing = this.#writing.then(() => this.#write())
    return this.#writing
  }

  async #write(): Promise<boolean> {
    const untold = this.#waiting
    this.#waiting = []
    const items = [...this.#held, ...untold]
    try {
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
