/** Status of a job: its progress, then its manifest. Also the list of jobs, and links to files of partners. */
import { downloadingSteps } from '../../http/pipelines/downloading.ts'
import { listExports } from '../../interactions/export/list.ts'
import { partnerFile, redirectToLink } from '../../interactions/export/partner-file.ts'
import { exportStatus } from '../../interactions/export/status.ts'
import { clients } from '../../runtime/aws/authorization.ts'
import { jobRows } from '../../runtime/aws/export-ports.ts'
import { exportUrls } from '../../runtime/aws/file-links.ts'
import { httpHandler, stepParts } from '../../runtime/aws/http-handler.ts'
import { clock, config } from '../../runtime/aws/ports.ts'

const ports = { clock: clock(), choices: config(), clients: clients(), exports: { rows: jobRows(), urls: exportUrls() } }

export const handler = httpHandler<'export-status'>({
  interactions: {
    'export-list': listExports(ports),
    'export-status': exportStatus(ports),
    'export-file-for-partner': partnerFile(ports, redirectToLink({ clock: clock(), urls: exportUrls() })),
  },
  steps: downloadingSteps(stepParts()),
})
