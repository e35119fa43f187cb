/**
 * Who did what, one record per request, apart from the logs. No content: neither bodies nor queries.
 *
 * Guarantees
 * - Records come out whole, each once, those of one process in the order they went in; what could not be written is kept and tried again.
 *   `close` writes what is still held.
 * - `batched`: nothing waits and nothing fails. A process that is killed takes with it what it had not written yet, of a short time; where
 *   processes sleep between requests, each answer waits until its record is written or was told of.
 * - `strict`: `prepare` fails with NotRecorded where a record could not be kept now; each that succeeds is followed by one `record`, which
 *   resolves when the record is kept for good, and fails with NotRecorded when that could not be done.
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
  /** The patients it is about, the first ones where they are many: `Patient/1`, as the URL, criteria, or the resource that was written or shown name them, those of the entries of a Bundle too. */
  readonly patients?: readonly string[]
  /** Of a Bundle: the resources that were written, the first ones where they are many, and how many there are. */
  readonly keys?: readonly string[]
  readonly written?: number
  /** The id of the export it began, asked for, or read a file of. */
  readonly job?: string
  readonly status: number
  /** Of the authorization server: what became of it, as `invalid_client` or `logged in`. */
  readonly outcome?: string
  /** Milliseconds from the request's arrival to its answer. */
  readonly duration: number
}

/** Bytes of JSON: of all `keys`, of all `patients`, and of a record, which never is longer. */
export const LONGEST_KEYS = 50_000
export const LONGEST_PATIENTS = 1_000
export const longestRecord = (interaction: string): number => 8_000 + LONGEST_PATIENTS + (interaction === 'bundle' ? LONGEST_KEYS : 0)

export interface AuditLog {
  /** Before anything is done for a request that arrived at this instant (ms since 1970). `interaction`: that of its record. */
  prepare(at: number, interaction: string): Promise<void> | undefined
  record(entry: AuditRecord): Promise<void> | undefined
  close(): Promise<void>
}
