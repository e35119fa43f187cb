/**
 * Audit records, apart from the logs: one per request, and more if its names do not fit into one. They hold no content: neither bodies
 * nor values of parameters.
 *
 * Guarantees
 * - Records come out whole, each once, those of one process in the order they went in; what could not be written is kept and tried again.
 *   `close` writes what is still held.
 * - `batched`: nothing waits and nothing fails. A process that is killed takes with it what it had not written yet, of a short time; where
 *   processes sleep between requests, each answer waits until its record is written or was told of.
 * - `strict`: `prepare` fails with NotRecorded where a record could not be kept now; each that succeeds is followed by one `record`, which
 *   resolves when all records of the request are kept for good, and fails with NotRecorded when that could not be done.
 */
export type AuditDurability = 'batched' | 'strict'

export type AuditRecord = {
  /** Milliseconds since 1970, UTC. */
  readonly at: number
  readonly requestId: string
  readonly tenant: string
  /** Absent in open mode. */
  readonly client?: string
  /** The name a user logs in with, and the id that stays; of a client that asks for itself its own. */
  readonly user?: string
  readonly subject?: string
  /** Of who asked the authorization server, where it is known: an IP address. */
  readonly address?: string
  /** Who ran a command: the user of the machine. */
  readonly operator?: string
  /** What the token is for, with spaces between. */
  readonly scopes?: string
  /** In context: an id. */
  readonly patient?: string
  readonly interaction: string
  /** Of a search or a history of a type, a create that failed, and the like: the resource type the URL names. */
  readonly type?: string
  /** `Patient/1`: the resource the URL names, or the one that was written. */
  readonly key?: string
  /**
   * `Patient/1` …: patients with data that the request wrote or its answer shows, and patients that its URL or criteria name. For a Bundle, those
   * of its entries. A login page that shows patients of several tenants names the tenant too: `north/Patient/1`.
   */
  readonly patients?: readonly string[]
  /** Resources that a Bundle wrote. `written`: how many they are. */
  readonly keys?: readonly string[]
  readonly written?: number
  /** Resources that reads of a Bundle name. */
  readonly reads?: readonly string[]
  /** Names of the parameters, `?` for names that the server does not know. Never their values. */
  readonly parameters?: readonly string[]
  /** A keyed digest of each query that has criteria, those of a Bundle's entries too. Equal queries have equal digests. */
  readonly queries?: readonly string[]
  /** Id of the export that it began, asked for, cancelled, or read a file of. */
  readonly job?: string
  readonly level?: 'system' | 'patient' | 'group'
  /** `Group/1`: the Group that is exported. */
  readonly group?: string
  /** Number of this record, from 1, and of all records, if the request has several. All name the same request, and share its other fields. */
  readonly part?: number
  readonly parts?: number
  readonly status: number
  /** Of the authorization server: what became of it, as `invalid_client` or `logged in`. */
  readonly outcome?: string
  /** Milliseconds from the request's arrival to its answer. */
  readonly duration: number
}

/** Maximum bytes of JSON of the names in one record. Further names are in further records. */
export const MAX_AUDIT_NAMES_BYTES = 50_000
/** Maximum bytes of JSON of one record. */
export const MAX_AUDIT_RECORD_BYTES = 8_000 + MAX_AUDIT_NAMES_BYTES
/** Bytes that `prepare` reserves for a request. Records that need more fail with NotRecorded if a disk is full. */
export const reservedBytesOf = (interaction: string): number => (interaction === 'bundle' ? MAX_AUDIT_RECORD_BYTES : 9_000)

export interface AuditLog {
  /** Before anything is done for a request that arrived at this instant (ms since 1970). `interaction`: that of its record. */
  prepare(at: number, interaction: string): Promise<void> | undefined
  /** All records of one request. */
  record(...records: readonly [AuditRecord, ...(readonly AuditRecord[])]): Promise<void> | undefined
  close(): Promise<void>
}
