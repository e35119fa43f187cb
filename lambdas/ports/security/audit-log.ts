/**
 * Audit records, stored apart from the logs: one per request, and more if its names do not fit into one. They contain neither bodies nor
 * values of parameters.
 *
 * Guarantees
 * - Each record is written as a whole and once, and the records of one process in order. Records that could not be written are retained and
 *   tried again. `close` writes the remaining ones.
 * - `batched`: no request fails because of a record. A process that is killed loses its latest records. If processes sleep between
 *   requests, each response waits until its record is written or the failure is logged; otherwise no request waits.
 * - `strict`: `prepare` fails with the fault `not-recorded` if a record could not be stored now. Each `prepare` that succeeds must be
 *   followed by one `record`. That call resolves when all records of the request are stored permanently. It fails with `not-recorded` if
 *   that is impossible.
 * - The log also stores the transfer of a record with `transfer`, with the durability of the record. Transfers are retained for
 *   TRANSFER_RETENTION_DAYS: see ./transfers.ts.
 */
export type AuditDurability = 'batched' | 'strict'

export type AuditRecord = {
  /** Arrival of the request in milliseconds since 1970. */
  readonly at: number
  readonly requestId: string
  readonly tenant: string
  /** Client of the request. Absent if the server requires no access token. */
  readonly client?: string
  /** Login name of the user. */
  readonly user?: string
  /** Permanent id of the user. A client that acts for itself is its own subject. */
  readonly subject?: string
  /** IP address of the client, only for requests to the authorization server and if it is known. */
  readonly address?: string
  /** Operating system user that ran the command. */
  readonly operator?: string
  /** Scopes of the token, separated by spaces. */
  readonly scopes?: string
  /** Id of the patient in context. */
  readonly patient?: string
  /** Client whose view an exchanged token gives, or `fhir:scopes`. */
  readonly seenAs?: string
  /** Whether an app received data of the patient in context, by the token of a user. */
  readonly transfer?: true
  readonly interaction: string
  /** Resource type in the URL of a request that names no single resource: a search, the history of a type, a failed create. */
  readonly type?: string
  /** Resource that the URL names, or that the request wrote, as `Patient/1`. */
  readonly key?: string
  /**
   * Patients whose data the request wrote or the response shows, and patients that the URL or the criteria name, as `Patient/1`. For a
   * Bundle, those of all its entries. A login page that shows patients of several tenants adds the tenant: `north/Patient/1`.
   */
  readonly patients?: readonly string[]
  /** Resources that a Bundle wrote, as `Patient/1`. */
  readonly keys?: readonly string[]
  /** Number of resources that a Bundle wrote. */
  readonly written?: number
  /** Resources that the read entries of a Bundle name, as `Patient/1`. */
  readonly reads?: readonly string[]
  /** Names of the request's parameters, `?` for names that the server does not know. Never their values. */
  readonly parameters?: readonly string[]
  /**
   * Digest, with a secret key, of each query that has criteria, including those of a Bundle's entries. Equal queries have equal digests.
   */
  readonly queries?: readonly string[]
  /** Id of the export that the request started, polled or cancelled, or of which it downloaded a file. */
  readonly job?: string
  readonly level?: 'system' | 'patient' | 'group'
  /** Group whose data was exported, as `Group/1`. */
  readonly group?: string
  /**
   * Number of this record among those of its request, from 1. Absent if the request has only one. All share the request id and the other
   * fields.
   */
  readonly part?: number
  /** Number of records of the request. Absent if it has only one. */
  readonly parts?: number
  readonly status: number
  /** Result of a request to the authorization server, such as `invalid_client` or `logged in`. */
  readonly outcome?: string
  /** Milliseconds from the arrival of the request to its response. */
  readonly duration: number
}

/** Maximum bytes of JSON of the names in one record. Names beyond it are in further records of the request. */
export const MAX_AUDIT_NAMES_BYTES = 50_000
/** Maximum bytes of JSON of one record. */
export const MAX_AUDIT_RECORD_BYTES = 8_000 + MAX_AUDIT_NAMES_BYTES
/**
 * Returns the bytes that `prepare` reserves on the disk for a request. If the disk is full, records that need more fail with
 * `not-recorded`.
 */
export const reservedBytesOf = (interaction: string): number => (interaction === 'bundle' ? MAX_AUDIT_RECORD_BYTES : 9_000)

export interface AuditLog {
  /**
   * Prepares the record of a request before anything else is done for it. `at`: arrival of the request in milliseconds since 1970.
   * `interaction`: that of the record. Returns undefined if there is nothing to wait for.
   */
  prepare(at: number, interaction: string): Promise<void> | undefined
  /** Takes all records of one request at once. Returns undefined if there is nothing to wait for. */
  record(...records: readonly [AuditRecord, ...(readonly AuditRecord[])]): Promise<void> | undefined
  close(): Promise<void>
}
