/** Cancels a bulk export at the request of its client. */
import { readingSteps } from '../../http/pipelines/reading.ts'
import { cancelExport } from '../../interactions/export/cancel.ts'
import { exportFiles, exportWorkflow, jobRows } from '../../runtime/aws/export-ports.ts'
import { httpHandler, stepParts } from '../../runtime/aws/http-handler.ts'
import { report } from '../../runtime/aws/log.ts'
import { clock, config } from '../../runtime/aws/ports.ts'

const exports = {
  ...{ rows: jobRows(), workflow: exportWorkflow(), blobs: exportFiles() },
  report: (error: unknown) => report(error, 'export'),
}

export const handler = httpHandler<'export-cancel'>({
  interactions: { 'export-cancel': cancelExport({ clock: clock(), choices: config(), exports }) },
  steps: readingSteps(stepParts()),
})
