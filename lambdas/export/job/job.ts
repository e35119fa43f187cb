/**
 * An export job, from its kick-off to the removal of its files. Specification 3.1, 4.5. The job is a row of JOB_ROWS by its id. The
 * progress of its writers is stored in separate rows.
 */
import type { Access } from '../../access/access.ts'
import type { MatchRequest } from '../../partners/bulk/match-request.ts'
import type { ExportLevel, ExportRequest } from '../export-request.ts'
import type { PartnerExport } from '../partner-export.ts'

/**
 * States of specification 3.1, plus `stopped`: a stopped job no longer exists for its client. `in-progress` lasts until the files are
 * finished.
 */
export type JobState = 'in-progress' | 'complete' | 'error' | 'stopped'

/** Instants are milliseconds since 1970. */
export type Job = {
  readonly id: string
  readonly tenant: string
  /** Client that started the job. Only this client may access it. */
  readonly client: string
  /** Subject of the user whose token started the job. Only this user may access it. Absent: the client started it for itself. */
  readonly user?: string
  /** Access of the token at kick-off. It limits the exported resources. */
  readonly access: Access
  /** URL of the kick-off, as sent. */
  readonly request: string
  readonly baseUrl: string
  readonly level: ExportLevel
  /** Id of the Group. Only Group exports have one. */
  readonly group?: string
  /** Access by which the Group and the Groups in it are read. Absent in older jobs: `access`. */
  readonly groupAccess?: Access
  /** Export type and view of an export for a partner. Absent: the job is a `$export`. */
  readonly partner?: PartnerExport
  /** `match`: the job finds members for a partner, and `match` is present. Absent: the job is an export. */
  readonly kind?: 'match'
  /** Request of a match. */
  readonly match?: MatchRequest
  /** Parameters of the kick-off. If the job has `patients`, `asked.patients` is empty: the named patients have rows of their own. */
  readonly asked: ExportRequest
  /** Number of named patients, see plan/named-patients.ts. Absent: `asked` contains them, as in all older jobs. */
  readonly patients?: number
  /** Time of the kick-off. The job exports the versions that were current then. */
  readonly transactionTime: number
  /** Restore generation of the store at kick-off. Absent: 0. */
  readonly epoch?: number
  readonly state: JobState
  /** Increases by one with each restart of the job. A step of an older attempt ends early and cannot complete or fail the job. */
  readonly attempt: number
  /** Attempt that has begun to work. If it ends while this is set, the end counts as a crash. */
  readonly began?: number
  /** Consecutive crashes without progress. `came`: progress of the job at the last of them. */
  readonly deaths?: { readonly count: number; readonly came: number }
  /** Id of the plan. Its segments are named `${plan}-0` and so on. Absent: the job is not planned yet. */
  readonly plan?: string
  /** Estimated number of entries that the writers read. Absent: the job is not planned yet. */
  readonly total?: number
  /** Stored types of the Patient compartment that a setting excludes from this export. Absent: none. */
  readonly omittedTypes?: readonly string[]
  /** Time at which the job completed, failed or was stopped. Absent: it is in progress. */
  readonly ended?: number
  /** Time at which a client last received the manifest. */
  readonly retrieved?: number
  /** Reason of a failed job for its client, without data of resources. */
  readonly reason?: string
  /** Files of a complete job. */
  readonly files?: readonly JobFile[]
}

/** `name`: file name without extension, which is the type, `deleted` or `error`. `count`: lines. `size`: bytes. */
export type JobFile = {
  readonly name: string
  readonly kind: 'output' | 'deleted' | 'error'
  readonly type: string
  readonly count: number
  readonly size: number
}

/** Whether the files of the job need an access token: files of a partner contain data of members. Other files have signed links. */
export const filesNeedToken = ({ partner, match }: Pick<Job, 'partner' | 'match'>): boolean => partner !== undefined || match !== undefined

/** Whether a partner started the job. A client of the payer may also start an export for partners; that is not a job of a partner. */
export const isOfPartner = ({ partner, match }: Pick<Job, 'partner' | 'match'>): boolean => (partner ?? match)?.identifiers !== undefined

/** Owner of the rows of all jobs. The key of each row is the job id. */
export const JOB_ROWS = 'exports'

/**
 * Owners of the rows of one job, one for each purpose. Patient rows hold the named patients. File rows hold, by file name, the id of the
 * unfinished upload and its next part number.
 */
export const segmentRowsOf = (job: string): string => `exports/${job}/segments`
export const rangeRowsOf = (job: string): string => `exports/${job}/ranges`
export const patientRowsOf = (job: string): string => `exports/${job}/patients`
export const fileRowsOf = (job: string): string => `exports/${job}/files`

/** Prefix of the keys of all blobs of a job. */
export const blobPrefixOf = (job: string): string => `exports/${job}/`
export const fileKeyOf = (job: string, name: string): string => `${blobPrefixOf(job)}files/${name}.ndjson`

/** Name of the workflow execution. Each attempt has its own. */
export const executionNameOf = ({ id, attempt }: Pick<Job, 'id' | 'attempt'>): string => `${id}-${attempt}`

/**
 * Key of a temporary blob: `tails` hold lines for the finish step, `met` hold resource keys for the second pass, `counts` hold the progress
 * of a plan, `request` the members of a match. It is removed when the job ends.
 */
export const temporaryKeyOf = (job: string, kind: 'tails' | 'met' | 'counts' | 'request', id: string): string =>
  `${blobPrefixOf(job)}${kind}/${id}`
