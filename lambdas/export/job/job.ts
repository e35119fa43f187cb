/**
 * An export job, from its kick-off to the removal of its files. Specification 3.1, 4.5. Its row stands on the shelf `exports` by its id; what
 * its writers have done stands on shelves of its own.
 */
import type { Access } from '../../access/access.ts'
import type { ExportLevel, ExportRequest } from '../export-request.ts'

/** The states of specification 3.1; a job that was stopped is no more. `in-progress`: until it is finished. */
export type JobState = 'in-progress' | 'complete' | 'error' | 'stopped'

/** Instants are milliseconds since 1970. */
export type Job = {
  readonly id: string
  readonly tenant: string
  /** Who may ask for it. */
  readonly client: string
  /** Subject of the user whose token started the job. Only this user may access it. Absent: the client started it for itself. */
  readonly user?: string
  /** What it may see: of the token it was kicked off with. */
  readonly access: Access
  /** The URL of the kick-off, as it was sent. */
  readonly request: string
  readonly baseUrl: string
  readonly level: ExportLevel
  /** The id of the Group. */
  readonly group?: string
  /** Access by which the Group and the Groups in it are read. Absent in older jobs: `access`. */
  readonly groupAccess?: Access
  /** Without its patients, where `patients` says how many there are. */
  readonly asked: ExportRequest
  /** How many are named: plan/named-patients.ts. Absent: `asked` has them, as it had in all jobs once. */
  readonly patients?: number
  /** Of the kick-off: versions are exported that were current then. */
  readonly transactionTime: number
  /** How often the store had been set back to an earlier time by then. Absent: never. */
  readonly epoch?: number
  readonly state: JobState
  /** Rises by one whenever its work is begun again: steps of an older attempt do nothing more. */
  readonly attempt: number
  /** The attempt whose work has begun, until it is known why that ended. */
  readonly began?: number
  /** How often in a row its work died without having come further; `came`: how far that was. */
  readonly deaths?: { readonly count: number; readonly came: number }
  /** Its segments are named `${plan}-0` …; absent: it is not planned yet. */
  readonly plan?: string
  /** About how many places its writers look at; absent: it is not planned yet. */
  readonly total?: number
  /** Stored types of the Patient compartment that a setting keeps out of this export. Absent: none. */
  readonly omittedTypes?: readonly string[]
  /** When it came to its state. */
  readonly ended?: number
  /** When the manifest was last handed out. */
  readonly retrieved?: number
  /** Of one that failed: for its client, without content. */
  readonly reason?: string
  /** Of one that is complete. */
  readonly files?: readonly JobFile[]
}

/** `name`: of the file, without its ending: the type, `deleted`, `error`. `count`: lines; `size`: bytes. */
export type JobFile = {
  readonly name: string
  readonly kind: 'output' | 'deleted' | 'error'
  readonly type: string
  readonly count: number
  readonly size: number
}

/** The shelf of jobs. */
export const JOB_ROWS = 'exports'

/** Shelves of one job. `patients`: whom it names; `files`: by name, the unfinished blob and the number of its last part. */
export const segmentRowsOf = (job: string): string => `exports/${job}/segments`
export const rangeRowsOf = (job: string): string => `exports/${job}/ranges`
export const patientRowsOf = (job: string): string => `exports/${job}/patients`
export const fileRowsOf = (job: string): string => `exports/${job}/files`

/** Everything of a job begins with it. */
export const blobPrefixOf = (job: string): string => `exports/${job}/`
export const fileKeyOf = (job: string, name: string): string => `${blobPrefixOf(job)}files/${name}.ndjson`

/** Of a workflow: another one for each attempt. */
export const executionNameOf = ({ id, attempt }: Pick<Job, 'id' | 'attempt'>): string => `${id}-${attempt}`

/** What writers leave for each other and for the end: gone when the job is complete. */
export const temporaryKeyOf = (job: string, kind: 'tails' | 'met', id: string): string => `${blobPrefixOf(job)}${kind}/${id}`
