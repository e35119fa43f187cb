/** Time within which a kick-off stores the data that does not fit into the row of its job. */
import { ExportFault } from './export-fault.ts'
import type { Job } from './job.ts'

/** Maximum milliseconds between a kick-off and the storing of its last data. If data is missing after that, the kick-off has failed. */
const LONGEST_KICK_OFF = 120_000

/** Throws ExportFault if the kick-off has failed. Its data is missing. No client knows such a job. */
export function checkKickOffTime({ kind, transactionTime }: Pick<Job, 'kind' | 'transactionTime'>, now: number): void {
  if (now - transactionTime > LONGEST_KICK_OFF) throw new ExportFault(`The kick-off of this ${kind ?? 'export'} did not come to its end`)
}
