/** Audit records as items that expire: by minute, spread over partitions. */
import type { AuditDurability, AuditLog, AuditRecord } from '../../ports/audit-log.ts'
import { NotRecorded } from '../../ports/not-recorded.ts'
import { hashOf } from '../../ports/segment-of.ts'
import type { Dynamo, Item } from './dynamo.ts'
import { EXPIRY } from './table.ts'

export type DynamoDbAuditLogOptions = {
  readonly dynamo: Dynamo
  readonly retentionDays: number
  readonly durability: AuditDurability
  /** Told when records could not be written; they are kept and tried again. */
  readonly onError: (error: unknown) => void
}

const DAY = 24 * 60 * 60
const PARTITIONS = 8
/** Records held back while the table refuses them. */
const MOST_HELD = 10_000

export class DynamoDbAuditLog implements AuditLog {
  readonly #options: DynamoDbAuditLogOptions
  #waiting: Item[] = []
  #writing: Promise<void> = Promise.resolve()

  constructor(options: DynamoDbAuditLogOptions) {
    this.#options = options
  }

  /** What could not be written before is tried again first. */
  prepare(): Promise<void> | undefined {
    return this.#isStrict && this.#waiting.length > 0 ? this.#writeOrFail() : undefined
  }

  record(entry: AuditRecord): Promise<void> | undefined {
    const at = new Date(entry.at).toISOString()
    this.#waiting.push({
      pk: `AUDIT#${at.slice(0, 16)}#${hashOf(entry.requestId) % PARTITIONS}`,
      sk: `${at}#${entry.requestId}`,
      ...entry,
      at,
      [EXPIRY]: Math.floor(entry.at / 1000) + this.#options.retentionDays * DAY,
    })
    return this.#isStrict ? this.#writeOrFail() : undefined
  }

  /** Batched records are written, or `onError` was told. For a process that sleeps between requests. */
  flush(): Promise<void> {
    return this.#isStrict ? this.#writing : this.close()
  }

  close(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write())
    return this.#writing
  }

  get #isStrict(): boolean {
    return this.#options.durability === 'strict'
  }

  async #writeOrFail(): Promise<void> {
    await this.close()
    if (this.#waiting.length > 0) throw new NotRecorded('audit records cannot be written')
  }

  async #write(): Promise<void> {
    const items = this.#waiting
    this.#waiting = []
    if (items.length === 0) return
    try {
      await this.#options.dynamo.putAll(items)
    } catch (error) {
      this.#options.onError(error)
      this.#waiting = [...items, ...this.#waiting].slice(-MOST_HELD)
    }
  }
}
