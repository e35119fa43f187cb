/** Reads the export job that a request names, for the client and user that started it. Specification 4.5 */
import type { Job } from '../../export/job/job.ts'
import { readJob } from '../../export/job/job-transitions.ts'
import { manifestExpiryOf } from '../../export/job/lifetimes.ts'
import { type FhirError, fhirError } from '../../fhir/outcome.ts'
import type { Rows } from '../../ports/rows/rows.ts'
import { forbidden } from '../forbidden.ts'
import type { Choices, FhirRequest } from '../interaction.ts'

/** Returns the job. Throws FhirError 404 if it is unknown, cancelled, expired or of another tenant, and 403 for another client or user. */
export async function readCallerJob(rows: Rows, request: FhirRequest, now: number, choices: Choices): Promise<Job> {
  const { id = '', tenant, client, user } = request
  const job = isName(id) ? await readJob(rows, id) : undefined
  if (job?.tenant !== tenant) throw jobNotFound()
  if (job.client !== client) throw forbidden('Another client started this export')
  // guard: export-of-own-user
  if (job.user !== user) throw forbidden('Another user of this client, or the client itself, started this export')
  if (isExpired(job, now, choices)) throw jobNotFound()
  return job
}

/** Whether the caller started the job: the same client, and the same user if a user started it. Compare the tenants first. */
export const isOwnJob = (job: Pick<Job, 'client' | 'user'>, { client, user }: Pick<FhirRequest, 'client' | 'user'>): boolean =>
  job.client === client && job.user === user

/** Whether the job no longer exists for clients: it was cancelled, or its retention time is over. */
export const isExpired = (job: Pick<Job, 'state' | 'ended' | 'retrieved'>, now: number, choices: Choices): boolean =>
  job.state === 'stopped' || now >= (manifestExpiryOf(job, choices.exportRetentionDays) ?? Number.POSITIVE_INFINITY)

/** Whether the id has the form of a job id, and so can be the key of a row. */
export const isName = (id: string): boolean => /^[\w.-]{1,200}$/.test(id)

export const jobNotFound = (): FhirError =>
  fhirError(404, 'not-found', 'There is no such export: it was cancelled, has expired, or never was')
