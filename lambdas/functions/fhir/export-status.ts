/** Status of a bulk export: its progress, then its manifest. Also the list of exports. */
import { readingSteps } from '../../http/pipelines/reading.ts'
import { listExports } from '../../interactions/export/list.ts'
import { exportStatus } from '../../interactions/export/status.ts'
import { jobRows } from '../../runtime/aws/export-ports.ts'
import { exportUrls } from '../../runtime/aws/file-links.ts'
import { httpHandler, stepParts } from '../../runtime/aws/http-handler.ts'
import { clock, config } from '../../runtime/aws/ports.ts'

export const handler = httpHandler<'export-status'>({
  interactions: {
    'export-list': listExports({ clock: clock(), choices: config(), exports: { rows: jobRows() } }),
    'export-status': exportStatus({ clock: clock(), choices: config(), exports: { rows: jobRows(), urls: exportUrls() } }),
  },
  steps: readingSteps(stepParts()),
})
