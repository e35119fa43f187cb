/**
 * Cancels a running bulk export, or removes a complete one, for the client that started it.
 * https://hl7.org/fhir/uv/bulkdata/STU2/export.html#bulk-data-delete-request
 */
import { executionNameOf, fileKeyOf } from '../../export/job/job.ts'
import { changeJob, setStopped } from '../../export/job/job-transitions.ts'
import type { Interaction, Ports } from '../interaction.ts'
import { jobNotFound, readCallerJob } from './caller-job.ts'
import type { ExportPorts } from './ports.ts'

type CancelPorts = Pick<Ports, 'clock' | 'choices'> & { readonly exports: Pick<ExportPorts, 'rows' | 'workflow' | 'blobs' | 'report'> }

/**
 * Returns 202. As soon as the row has the state `stopped`, the job is answered 404 and its links 404. Then stops the workflow and removes
 * the files; if either fails, the sweep removes the remaining data.
 */
export const cancelExport =
  ({ clock, choices, exports }: CancelPorts): Interaction =>
  async (request) => {
    const { rows, workflow, blobs, report } = exports
    const { id } = await readCallerJob(rows, request, clock.now(), choices)
    const job = await changeJob(rows, id, setStopped(clock.now()))
    if (job === undefined) throw jobNotFound()
    await workflow.stop(executionNameOf(job)).catch(report)
    await Promise.all((job.files ?? []).map(({ name }) => blobs.remove(fileKeyOf(id, name)).catch(report)))
    return { status: 202, job }
  }
