/** The patients an export is asked for by name, more than fit into the row of its job: rows of their own, which go with what its writers keep. */
import type { Rows } from '../../ports/rows/rows.ts'
import { ExportFault } from '../job/export-fault.ts'
import { type Job, patientRowsOf } from '../job/job.ts'

/** Names of a row: of up to 72 bytes each. */
const EACH = 2_000
/** ms: a kick-off that has not written all of them by then is not under way any more. */
const LONGEST_KICK_OFF = 120_000

/** The job's own row stands already, and says how many there are. `pass`: before each row, which may take the thread until it is on the disk. */
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

/** undefined: its kick-off has not written all of them yet. ExportFault where it never will: nobody was told of the job. */
export async function readNamedPatients(rows: Rows, job: Job, now: number): Promise<readonly string[] | undefined> {
  if (job.patients === undefined) return job.asked.patients
  const patients: string[] = []
  for await (const { value } of rows.list<readonly string[]>(patientRowsOf(job.id))) patients.push(...value)
  if (patients.length === job.patients) return patients
  if (now - job.transactionTime > LONGEST_KICK_OFF) throw new ExportFault('The kick-off of this export did not come to its end')
  return undefined
}
