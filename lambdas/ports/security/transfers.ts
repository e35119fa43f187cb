/**
 * Transfers of patient data to apps. US payers report each year for how many members data were transferred (42 CFR 422.119(f)). Audit
 * records expire before the report, so transfers are stored and retained separately.
 */
import { auditDayOf } from './audit-lines.ts'
import type { AuditRecord } from './audit-log.ts'

/** A day (UTC) on which an app received data of a patient. `day`: as `2026-01-31`. `patient`: id of the Patient. */
export type Transfer = { readonly day: string; readonly tenant: string; readonly patient: string; readonly client: string }

/** Days for which transfers are retained. */
export const TRANSFER_RETENTION_DAYS = 3 * 366

export interface TransferReader {
  /** Yields the transfers of a year (UTC), each once, in any order. */
  read(year: number): AsyncGenerator<Transfer>
}

/** Returns the transfer that the records of a request report, or undefined if they report none. */
export function transferOf([record]: readonly AuditRecord[]): Transfer | undefined {
  const { at, tenant, patient, client, transfer } = record!
  if (transfer === undefined) return undefined
  return { day: auditDayOf(at), tenant, patient: patient!, client: client! }
}

/** Maximum cached transfers of a server. Above it the oldest are removed, and may be written again. */
const MOST_KNOWN = 50_000

/** Cache of written transfers, so that only the first request of a day writes one. `most`: maximum cached transfers. */
export class KnownTransfers {
  readonly #known = new Set<string>()
  readonly #most: number

  constructor(most = MOST_KNOWN) {
    this.#most = most
  }

  /** Whether the transfer is not cached. Adds it to the cache. */
  add(transfer: Transfer): boolean {
    const key = keyOf(transfer)
    if (this.#known.has(key)) return false
    if (this.#known.size >= this.#most) this.#known.delete(this.#known.values().next().value!)
    this.#known.add(key)
    return true
  }

  /** Removes a transfer that could not be written from the cache. */
  remove(transfer: Transfer): void {
    this.#known.delete(keyOf(transfer))
  }
}

const keyOf = ({ day, tenant, patient, client }: Transfer): string => [day, tenant, patient, client].join(' ')
