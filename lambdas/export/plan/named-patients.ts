/**
 * Patients that a kick-off names. They may not fit into the row of the job, so they have rows of their own. These are removed with the
 * temporary data.
 */
import type { Rows } from '../../ports/rows/rows.ts'
import { type Job, patientRowsOf } from '../job/job.ts'
import { checkKickOffTime } from '../job/kick-off-time.ts'

/** References per row. With up to 72 bytes each, a row fits into a DynamoDB item. */
const EACH = 2_000

/**
 * Stores the patients. The job's own row must exist and contain their number. `pass`: awaited before each write, so that other requests
 * run: a write may block the thread until it is on disk.
 */
export async function storeNamedPatients(
  rows: Rows,
  job: string,
  patients: readonly string[],
  pass: () => Promise<void> | undefined = () => undefined,
): Promise<void> {
  for (let first = 0; first < patients.length; first += EACH) {
    await pass()
    await rows.change(patientRowsOf(job), String(first / EACH), () => patients.slice(first, first + EACH))
  }
}

/**
 * Returns the patients, or undefined if the kick-off is still storing them. Throws ExportFault if the kick-off failed; no client knows the
 * job then.
 */
export async function readNamedPatients(rows: Rows, job: Job, now: number): Promise<readonly string[] | undefined> {
  if (job.patients === undefined) return job.asked.patients
  const patients: string[] = []
  for await (const { value } of rows.list<readonly string[]>(patientRowsOf(job.id))) patients.push(...value)
  if (patients.length === job.patients) return patients
  checkKickOffTime(job, now)
  return undefined
}
