/** Audit records as lines of JSON, in files and in archives. `id`: see StoredAuditRecord; files have none. */
import type { AuditRecord } from './audit-log.ts'

type LineRecord = AuditRecord & { readonly id?: string }

/** Returns the day (UTC) of an instant in milliseconds since 1970, as `2026-01-31`. */
export const auditDayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)

/** Returns the record as a line of JSON, with its end. */
export const auditLineOf = (record: LineRecord): string => `${JSON.stringify({ ...record, at: new Date(record.at).toISOString() })}\n`

/** Parses a line. Throws SyntaxError if it is no JSON. */
export function parseAuditLine(line: string): LineRecord {
  const record = JSON.parse(line) as Omit<LineRecord, 'at'> & { readonly at: string }
  return { ...record, at: Date.parse(record.at) }
}
