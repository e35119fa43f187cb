/** How far a bulk export is, and its manifest. */
import { readingSteps } from '../http/pipelines/reading.ts'
import { exportStatus } from '../interactions/export-status.ts'
import { clock, config } from '../runtime/aws.ts'
import { jobRows } from '../runtime/aws-exporting.ts'
import { httpHandler, stepParts } from '../runtime/aws-handler.ts'
import { exportUrls } from '../runtime/aws-links.ts'

export const handler = httpHandler({
  interactions: {
    'export-status': exportStatus({ clock: clock(), choices: config(), exports: { rows: jobRows(), urls: exportUrls() } }),
  },
  steps: readingSteps(stepParts()),
})
