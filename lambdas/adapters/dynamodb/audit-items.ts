/** Items of the state table that hold audit records. */
import type { AuditRecord } from '../../ports/security/audit-log.ts'
import type { StoredAuditRecord } from '../../ports/security/audit-source.ts'
import { EXPIRY_ATTRIBUTE } from './table-keys.ts'

/** Start of their partition keys. */
export const AUDIT_PARTITION = 'AUDIT#'

/** Returns the sort key of a record. It ends with the record's id, because clients choose request ids, and several may be equal. */
export const auditSortKeyOf = (at: string, requestId: string, id: string): string => `${at}#${requestId}#${id}`

/** Returns the record of an item. `at` is NaN if the item holds no valid time. */
export function auditRecordOf(item: Readonly<Record<string, unknown>>): StoredAuditRecord {
  const { pk: _, sk, [EXPIRY_ATTRIBUTE]: __, ...record } = item
  const id = String(sk).slice(String(sk).lastIndexOf('#') + 1)
  return { id, record: { ...(record as unknown as AuditRecord), at: Date.parse(String(record.at)) } }
}
