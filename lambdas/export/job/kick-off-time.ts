/** Time limit of a kick-off for the data that does not fit into the row of its job. */
import { ExportFault } from './export-fault.ts'
import type { Job } from './job.ts'

/** Maximum milliseconds between a kick-off and the write of its last data. If data is missing later, the kick-off has failed. */
const LONGEST_KICK_OFF = 120_000

/** Throws ExportFault if the time of the kick-off is over. Call it if data is missing. No client received the id of such a job. */
export function checkKickOffTime({ kind, transactionTime }: Pick<Job, 'kind' | 'transactionTime'>, now: number): void {
  if (now - transactionTime > LONGEST_KICK_OFF)
    throw new ExportFault(`The kick-off of this ${kind ?? 'export'} failed before it stored all data. Start it again`)
}
