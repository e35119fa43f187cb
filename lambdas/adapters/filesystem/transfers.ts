/**
 * Transfers in files: the audit record of the first transfer of a patient, app and day, reduced to names. They have a separate folder,
 * because audit records expire earlier.
 */
import { existsSync } from 'node:fs'
import type { AuditLog, AuditRecord } from '../../ports/security/audit-log.ts'
import { KnownTransfers, TRANSFER_RETENTION_DAYS, type Transfer, type TransferReader, transferOf } from '../../ports/security/transfers.ts'
import { FilesystemAuditLog, type FilesystemAuditLogOptions } from './audit-log.ts'
import { FilesystemAuditReader } from './audit-reader.ts'

/** `transfers`: folder of the transfers. Created with the first one. */
type Options = FilesystemAuditLogOptions & { readonly transfers: string }

/** Audit log that also stores transfers, with the durability of the records. */
export class FilesystemTransferLog implements AuditLog {
  readonly #records: FilesystemAuditLog
  readonly #transfers: FilesystemAuditLog
  readonly #known = new KnownTransfers()

  constructor({ transfers, ...options }: Options) {
    this.#records = new FilesystemAuditLog(options)
    this.#transfers = new FilesystemAuditLog({ ...options, folder: transfers, retentionDays: TRANSFER_RETENTION_DAYS })
  }

  prepare(at: number, interaction: string): Promise<void> | undefined {
    return this.#records.prepare(at, interaction)
  }

  record(...records: readonly [AuditRecord, ...(readonly AuditRecord[])]): Promise<void> | undefined {
    const recorded = this.#records.record(...records)
    const transfer = transferOf(records)
    if (transfer === undefined || !this.#known.add(transfer)) return recorded
    const stored = this.#store(records[0], transfer)
    return recorded === undefined ? undefined : Promise.all([recorded, stored]).then(() => undefined)
  }

  async close(): Promise<void> {
    try {
      await this.#records.close()
    } finally {
      await this.#transfers.close()
    }
  }

  async #store({ at, requestId, tenant, client, patient, interaction, status, duration }: AuditRecord, transfer: Transfer): Promise<void> {
    try {
      await this.#transfers.prepare(at, interaction)
      const names = { tenant, client: client!, patient: patient!, transfer: true } as const
      await this.#transfers.record({ at, requestId, ...names, interaction, status, duration })
    } catch (error) {
      this.#known.remove(transfer)
      throw error
    }
  }
}

export class FilesystemTransferReader implements TransferReader {
  readonly #folder: string
  readonly #onDamaged: (file: string, line: number) => void

  /** `folder`: may be missing. `onDamaged`: called for each skipped line, which is not a record. */
  constructor(folder: string, onDamaged: (file: string, line: number) => void) {
    this.#folder = folder
    this.#onDamaged = onDamaged
  }

  async *read(year: number): AsyncGenerator<Transfer> {
    if (!existsSync(this.#folder)) return
    const reader = new FilesystemAuditReader(this.#folder, this.#onDamaged)
    const period = { from: Date.UTC(year, 0), to: Date.UTC(year + 1, 0) }
    let known = new KnownTransfers()
    let today = ''
    // A restarted server writes the transfers of its day again.
    for await (const record of reader.read(period, {})) {
      const transfer = transferOf([record])!
      if (transfer.day !== today) known = new KnownTransfers(Number.POSITIVE_INFINITY)
      today = transfer.day
      if (known.add(transfer)) yield transfer
    }
  }
}
