/** Ends a job that cannot be finished: stores the reason and removes its files. */
import type { ExportParts } from '../step-types.ts'
import { removeJobData } from './file-removal.ts'
import type { Job } from './job.ts'
import { changeJob, setError } from './job-transitions.ts'

/** Reason of a job whose workflow used up its retries. */
export const UNAVAILABLE_REASON = 'The export could not be finished: what it reads or writes could not be used for a long time'

/** Advice for the client, which may ask the operator for the log. */
export const SMALLER_EXPORT_ADVICE =
  "Ask for less at once, by _type, _typeFilter, patient, _since and _until; the server's log says how its work ended"

/** Reason of a job with a step that was terminated even at its last retry. */
export const STEP_TERMINATED_REASON = `The export was given up: a step of it was ended each time, as where it needs more memory or time than there is. ${SMALLER_EXPORT_ADVICE}`

/** Reason of a job that cannot determine which resources it would omit. */
export const DAMAGED_STORE_REASON =
  'The export could not be finished: what is stored is damaged, so it is unknown which resources would be missing'

/** Reason of a job that started before a point-in-time restore: its files may hold resources that the restored store lacks. */
export const RESTORED_STORE_REASON =
  'The export was ended, for what the server stores was set back to an earlier time meanwhile: ask for it again, and for everything, without _since'

/** Failure reason of a job of a removed partner. */
export const REMOVED_PARTNER_REASON = 'The job was ended, because its client is not registered as a partner'

/**
 * Fails the job, if the attempt is still current. Changes the state first, so that writers stop; a sweep removes files that they still
 * leave. Keeps the files if another attempt continues the job or has completed it.
 */
export async function failJob(parts: Pick<ExportParts, 'rows' | 'blobs' | 'now'>, job: Job, reason: string): Promise<void> {
  const ended = await changeJob(parts.rows, job.id, setError(job.attempt, reason, parts.now()))
  if (ended?.state === 'error') await removeJobData(parts, job.id)
}
