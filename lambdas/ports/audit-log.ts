/**
 * Who did what, one record per request, apart from the logs. No content: neither bodies nor queries.
 *
 * Guarantees: `record` never throws and never waits; records come out in the order they went in; `close` writes what is still held.
 */

export type AuditRecord = {
  /** Milliseconds since 1970, UTC. */
  readonly at: number
  readonly requestId: string
  readonly tenant: string
  /** Absent in open mode. */
  readonly client?: string
  readonly user?: string
  readonly patient?: string
  readonly interaction: string
  /** `Patient/1`: the resource the URL names, where it names one. */
  readonly key?: string
  readonly status: number
  /** Milliseconds from the request's arrival to its answer. */
  readonly duration: number
}

export interface AuditLog {
  record(entry: AuditRecord): void
  close(): Promise<void>
}
