/**
 * Audit records, stored apart from the logs: one per request, and more if its names do not fit into one. They hold no content: neither
 * bodies nor values of parameters.
 *
 * Guarantees
 * - Records are written whole, each once, those of one process in order. Records that could not be written are retained and tried again.
 *   `close` writes the remaining ones.
 * - `batched`: no request waits or fails. A process that is killed loses the records of its last moments. If processes sleep between
 *   requests, each response waits until its record is written or reported as unwritten.
 * - `strict`: `prepare` fails with the fault `not-recorded` if a record could not be stored now. Each `prepare` that succeeds is followed
 *   by one `record`. That call resolves when all records of the request are stored permanently. It fails with `not-recorded` if that is
 *   impossible.
 */
export type AuditDurability = 'batched' | 'strict'

export type AuditRecord = {
  /** Milliseconds since 1970, UTC. */
  readonly at: number
  readonly requestId: string
  readonly tenant: string
  /** Absent in open mode. */
  readonly client?: string
  /** Login name of the user. `subject`: permanent id of the user. A client that acts for itself is its own subject. */
  readonly user?: string
  readonly subject?: string
  /** IP address of the caller of the authorization server, if it is known. */
  readonly address?: string
  /** Operating system user that ran a command. */
  readonly operator?: string
  /** Scopes of the token, separated by spaces. */
  readonly scopes?: string
  /** Id of the patient in context. */
  readonly patient?: string
  readonly interaction: string
  /** Resource type in the URL, for a request without a resource: a search, the history of a type, a failed create. */
  readonly type?: string
  /** `Patient/1`: the resource that the URL names, or that the request wrote. */
  readonly key?: string
  /**
   * `Patient/1` …: patients with data that the request wrote or the response shows, and patients that the URL or the criteria name. For a
   * Bundle, those of its entries. A login page that shows patients of several tenants names the tenant too: `north/Patient/1`.
   */
  readonly patients?: readonly string[]
  /** Resources that a Bundle wrote. `written`: their number. */
  readonly keys?: readonly string[]
  readonly written?: number
  /** Resources that the reads of a Bundle name. */
  readonly reads?: readonly string[]
  /** Names of the parameters, `?` for names that the server does not know. Never their values. */
  readonly parameters?: readonly string[]
  /** Keyed digest of each query that has criteria, those of a Bundle's entries too. Equal queries have equal digests. */
  readonly queries?: readonly string[]
  /** Id of the export that the request started, polled, cancelled, or downloaded a file of. */
  readonly job?: string
  readonly level?: 'system' | 'patient' | 'group'
  /** `Group/1`: the exported Group. */
  readonly group?: string
  /** Number of this record, from 1, and of all records, if the request has several. All share the request id and the other fields. */
  readonly part?: number
  readonly parts?: number
  readonly status: number
  /** Result of a request to the authorization server, such as `invalid_client` or `logged in`. */
  readonly outcome?: string
  /** Milliseconds from the arrival of the request to its response. */
  readonly duration: number
}

/** Maximum bytes of JSON of the names in one record. Further names are in further records. */
export const MAX_AUDIT_NAMES_BYTES = 50_000
/** Maximum bytes of JSON of one record. */
export const MAX_AUDIT_RECORD_BYTES = 8_000 + MAX_AUDIT_NAMES_BYTES
/** Bytes that `prepare` reserves for a request. Records that need more fail with `not-recorded` if a disk is full. */
export const reservedBytesOf = (interaction: string): number => (interaction === 'bundle' ? MAX_AUDIT_RECORD_BYTES : 9_000)

export interface AuditLog {
  /**
   * Prepares the record of a request that arrived at this instant (ms since 1970), before anything is done for it. `interaction`: that of
   * its record. Returns undefined if there is nothing to wait for.
   */
  prepare(at: number, interaction: string): Promise<void> | undefined
  /** Takes all records of one request. Returns undefined if there is nothing to wait for. */
  record(...records: readonly [AuditRecord, ...(readonly AuditRecord[])]): Promise<void> | undefined
  close(): Promise<void>
}
