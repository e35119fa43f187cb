/** Reads audit records minute by minute, from one store or from several that hold the same records. */
import type { AuditRecord } from './audit-log.ts'
import { type AuditFilter, auditTestOf, type Period } from './audit-reader.ts'

/** `id`: distinguishes records of the same request and instant. Every store has the same id for a record. */
export type StoredAuditRecord = { readonly id: string; readonly record: AuditRecord }

export type AuditTest = (record: AuditRecord) => boolean

export interface AuditSource {
  /**
   * Returns the records of requests that arrived in a minute and pass the test, in any order. `minute`: its start in milliseconds since
   * 1970. Calls must have ascending minutes.
   */
  readMinute(minute: number, isWanted: AuditTest): Promise<readonly StoredAuditRecord[]>
}

export const AUDIT_MINUTE_MS = 60_000

/**
 * Yields the records of all sources in the order of their arrival. Yields a record that several sources hold once. If its content differs
 * between them, the record was overwritten, and each content is yielded.
 */
export async function* readAuditMinutes(sources: readonly AuditSource[], { from, to }: Period, filter: AuditFilter) {
  const passes = auditTestOf(filter)
  const isWanted: AuditTest = (record) => record.at >= from && record.at < to && passes(record)
  for (let minute = from - (from % AUDIT_MINUTE_MS); minute < to; minute += AUDIT_MINUTE_MS) {
    const found = await Promise.all(sources.map((source) => source.readMinute(minute, isWanted)))
    const distinct = new Map(found.flat().map((each) => [identityOf(each), each.record]))
    yield* [...distinct.values()].sort((a, b) => a.at - b.at)
  }
}

/** Returns a text that is equal for equal records. A store may return the members in another order. */
const identityOf = ({ id, record }: StoredAuditRecord): string =>
  JSON.stringify([id, ...Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1))])
