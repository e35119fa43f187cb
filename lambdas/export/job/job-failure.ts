/** Ends a job that cannot be finished: it says why, and nothing of it stays. */
import type { ExportParts } from '../step-types.ts'
import type { Job } from './job.ts'
import { changeJob, setError } from './job-transitions.ts'
import { removeJobData } from './remove-files.ts'

/** Of a workflow that has tried for long. */
export const UNAVAILABLE_REASON = 'The export could not be finished: what it reads or writes could not be used for a long time'

/** For the client, and for whom it asks what to do. */
export const SMALLER_EXPORT_ADVICE =
  "Ask for less at once, by _type, _typeFilter, patient, _since and _until; the server's log says how its work ended"

/** Of one whose steps were ended, as often as they are tried again then. */
export const STEP_TERMINATED_REASON = `The export was given up: a step of it was ended each time, as where it needs more memory or time than there is. ${SMALLER_EXPORT_ADVICE}`

/** Of one that cannot tell what it would lack. */
export const DAMAGED_STORE_REASON =
  'The export could not be finished: what is stored is damaged, and nobody can tell which resources would be missing'

/** Of one that began on a store that was set back since: nobody tells what of its files is still there. */
export const RESTORED_STORE_REASON =
  'The export was ended, for what the server stores was set back to an earlier time meanwhile: ask for it again, and for everything, without _since'

/**
 * First the state, so that writers stop. What they leave all the same is swept. Whose work another attempt goes on with, or has finished, keeps
 * its files.
 */
export async function failJob(parts: Pick<ExportParts, 'rows' | 'blobs' | 'now'>, job: Job, reason: string): Promise<void> {
  const ended = await changeJob(parts.rows, job.id, setError(job.attempt, reason, parts.now()))
  if (ended?.state === 'error') await removeJobData(parts, job.id)
}
