/** Converts records of the state table's stream to audit records. */
import type { StoredAuditRecord } from '../../../ports/security/audit-source.ts'
import { toPlainItem } from '../attributes.ts'
import { AUDIT_PARTITION, auditRecordOf } from '../audit-items.ts'
import type { StreamRecord } from './stream.ts'

/**
 * Returns the audit record that a stream record shows as written or overwritten, or undefined for any other stream record. A record without
 * a valid time, or with a year that no request can have, gets the time of its write. Otherwise a function that may write audit records could
 * block the archive by an invalid one.
 */
export function writtenAuditRecord({ dynamodb }: StreamRecord): StoredAuditRecord | undefined {
  const { NewImage: image, ApproximateCreationDateTime: seconds = 0 } = dynamodb ?? {}
  if (!image?.pk?.S?.startsWith(AUDIT_PARTITION)) return undefined
  const { id, record } = auditRecordOf(toPlainItem(image))
  // guard: invalid-audit-record-is-archived
  return { id, record: isWithinYears(record.at) ? record : { ...record, at: seconds * 1_000 } }
}

/** Whether an ISO date of the instant has a year of four digits. The archive sorts its objects by such dates. */
const isWithinYears = (at: number): boolean => at >= Date.UTC(1970) && at < Date.UTC(10_000)
