/** Kick-off of bulk exports. */
import { exportingSteps } from '../../http/pipelines/exporting.ts'
import { startExport } from '../../interactions/export/kick-off.ts'
import { startPartnerExport } from '../../interactions/export/partner-kick-off.ts'
import { clients } from '../../runtime/aws/authorization.ts'
import { exportTypeSettings, exportWorkflow, jobRows } from '../../runtime/aws/export-ports.ts'
import { httpHandler, stepParts } from '../../runtime/aws/http-handler.ts'
import { report } from '../../runtime/aws/log.ts'
import { basisProfiles, clock, config, deploymentSettings, resources, searchContexts } from '../../runtime/aws/ports.ts'

const exports = {
  ...{ epoch: deploymentSettings().epoch, rows: jobRows(), workflow: exportWorkflow(), settings: exportTypeSettings() },
  report: (error: unknown) => report(error, 'export'),
}

const ports = { resources: resources(), clients: clients(), clock: clock(), choices: config(), exports, basisProfiles }

export const handler = httpHandler<'export'>({
  interactions: { export: startExport(ports), 'export-for-partner': startPartnerExport(ports) },
  steps: exportingSteps({ ...stepParts(), maxBody: config().maxBodyBytes }),
  reading: searchContexts(),
})
