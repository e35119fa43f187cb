/** Archive of audit records, which outlives the store that requests write to. */
import type { StoredAuditRecord } from './audit-source.ts'

export interface AuditArchive {
  /**
   * Stores the records permanently. `batch`: name of the records. A repeated call with the same name and records changes nothing that a
   * reader sees.
   */
  add(records: readonly StoredAuditRecord[], batch: string): Promise<void>
}
