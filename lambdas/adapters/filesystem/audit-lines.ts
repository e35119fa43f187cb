/** Format of the files with audit records: one file for each day (UTC), and another for the commands of that day; one line of JSON per record. */
import type { AuditRecord } from '../../ports/security/audit-log.ts'

/** Returns the day of an instant in milliseconds since 1970, as `2026-01-31`. */
export const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)

/** Returns the day of a file with audit records, or undefined for another file. */
export const dayOfFile = (name: string): string | undefined => /^(\d{4}-\d{2}-\d{2})(?:\.commands)?\.jsonl$/.exec(name)?.[1]

/** Returns the record as a line of JSON, with its end. */
export const lineOf = (record: AuditRecord): string => `${JSON.stringify({ ...record, at: new Date(record.at).toISOString() })}\n`

/** Returns the record of a line, or undefined if the line is no JSON. */
export function parseLine(line: string): AuditRecord | undefined {
  try {
    const record = JSON.parse(line) as Omit<AuditRecord, 'at'> & { readonly at: string }
    return { ...record, at: Date.parse(record.at) }
  } catch {
    return undefined
  }
}
