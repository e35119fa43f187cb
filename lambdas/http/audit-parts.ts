/** Splits the names of an audit record over several records if they do not fit into one. */
import { type AuditRecord, MAX_AUDIT_NAMES_BYTES } from '../ports/security/audit-log.ts'

const FIELDS = ['parameters', 'queries', 'keys', 'reads', 'patients'] as const
type Field = (typeof FIELDS)[number]

/** Names by field. Callers pass only names with one byte of JSON per character and without quotes, so that a length is a size in bytes. */
export type AuditNames = Readonly<Record<Field, readonly string[]>>
export type AuditRecords = readonly [AuditRecord, ...(readonly AuditRecord[])]

/** Bytes of JSON that each name needs besides itself: two quotes and a comma. */
const BESIDE = 3

/** Returns one record with all names. If they exceed MAX_AUDIT_NAMES_BYTES, returns several records with part numbers. */
export function splitAuditRecord(record: AuditRecord, names: AuditNames): AuditRecords {
  const parts: (readonly [Field, string])[][] = [[]]
  let size = 0
  for (const field of FIELDS)
    for (const name of names[field]) {
      size += name.length + BESIDE
      // guard: audit-record-continues
      if (size > MAX_AUDIT_NAMES_BYTES) {
        parts.push([])
        size = name.length + BESIDE
      }
      parts.at(-1)!.push([field, name])
    }
  if (parts.length === 1) return [{ ...record, ...namesIn(parts[0]!) }]
  const numbered = parts.map((part, i): AuditRecord => ({ ...record, ...namesIn(part), part: i + 1, parts: parts.length }))
  return [numbered[0]!, ...numbered.slice(1)]
}

/** Groups names by field. Fields without names are absent. */
const namesIn = (part: readonly (readonly [Field, string])[]): Partial<AuditNames> =>
  Object.fromEntries([...Map.groupBy(part, ([field]) => field)].map(([field, named]) => [field, named.map(([, name]) => name)]))
