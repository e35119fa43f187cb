/** Files with audit records: one for each day (UTC), and another for the commands of that day. Each line is a record. */

import { parseAuditLine } from '../../ports/security/audit-lines.ts'
import type { AuditRecord } from '../../ports/security/audit-log.ts'

/** Returns the day of a file with audit records, or undefined for another file. */
export const dayOfFile = (name: string): string | undefined => /^(\d{4}-\d{2}-\d{2})(?:\.commands)?\.jsonl$/.exec(name)?.[1]

/** Returns the record of a line, or undefined if the line is no JSON. */
export function parseLine(line: string): AuditRecord | undefined {
  try {
    return parseAuditLine(line)
  } catch {
    return undefined
  }
}
