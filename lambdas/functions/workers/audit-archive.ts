/** Follows the stream of the state table, and archives audit records in a bucket that retains them for years. */
import { archiveAuditRecords } from '../../runtime/aws/audit-archive.ts'

export const handler = archiveAuditRecords
