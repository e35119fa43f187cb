/** Audit records as items that expire: by minute, spread over partitions. */
import { NotRecorded } from '../../../ports/faults/not-recorded.ts'
import type { AuditDurability, AuditLog, AuditRecord } from '../../../ports/security/audit-log.ts'
import { hashOf } from '../../../ports/store/fnv-hash.ts'
import type { Item, TableClient } from '../table-client.ts'
import { EXPIRY_ATTRIBUTE } from '../table-keys.ts'

export type DynamoDbAuditLogOptions = {
  readonly dynamo: TableClient
  readonly retentionDays: number
  readonly durability: AuditDurability
  readonly newId: () => string
  /** Told when records could not be written, of each once as it would stand in the table; they are kept and tried again. */
  readonly onError: (error: unknown, unwritten: readonly Item[]) => void
}

const DAY = 24 * 60 * 60
/** Of a minute: each takes a thousand records in a second. */
const PARTITIONS = 64
/** Records held back while the table refuses them. */
const MOST_HELD = 10_000

export class DynamoDbAuditLog implements AuditLog {
  readonly #options: DynamoDbAuditLogOptions
  #waiting: Item[] = []
  /** Refused before, and told of. */
  #held: readonly Item[] = []
  /** One after the other; whether the last one succeeded. */
  #writing: Promise<boolean> = Promise.resolve(true)

  constructor(options: DynamoDbAuditLogOptions) {
    this.#options = options
  }

  /** What could not be written before is tried again first. */
  prepare(): Promise<void> | undefined {
    return this.#isStrict && this.#held.length > 0 ? this.#writeOrFail() : undefined
  }

  record(...records: readonly AuditRecord[]): Promise<void> | undefined {
    this.#waiting.push(...records.map((each) => this.#itemOf(each)))
    return this.#isStrict ? this.#writeOrFail() : undefined
  }

  #itemOf(record: AuditRecord): Item {
    const at = new Date(record.at).toISOString()
    // Clients may name several requests alike.
    const id = this.#options.newId()
    return {
      pk: `AUDIT#${at.slice(0, 16)}#${hashOf(id) % PARTITIONS}`,
      sk: `${at}#${record.requestId}#${id}`,
      ...record,
      at,
      [EXPIRY_ATTRIBUTE]: Math.floor(record.at / 1000) + this.#options.retentionDays * DAY,
    }
  }

  /** Batched records are written, or `onError` was told. For a process that sleeps between requests. */
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
    if (!(await this.#writeAll())) throw new NotRecorded('audit records cannot be written')
  }

  /** What waits now; what comes meanwhile is for the next. */
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
