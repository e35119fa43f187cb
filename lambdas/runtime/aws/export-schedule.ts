/** Starts scheduled exports on AWS. */
import type { ScheduleEvent } from '../../export/schedules/schedules.ts'
import { exportingSteps } from '../../http/pipelines/exporting.ts'
import { decidabilityCheck } from '../authorization/condition-support.ts'
import { once } from '../once.ts'
import { clients } from './authorization.ts'
import { exportTypeSettings, exportWorkflow, jobRows } from './export-ports.ts'
import { publicStepParts } from './http-handler.ts'
import { report } from './log.ts'
import { audit, clock, config, deploymentSettings, resources, searchContexts } from './ports.ts'
import { scheduledExportStarter } from './scheduled-export.ts'

const begin = /* @__PURE__ */ once(() =>
  scheduledExportStarter({
    clients: clients(),
    isDecidable: decidabilityCheck((tenant) => searchContexts().of(tenant, clock().now())),
    resources: resources(),
    clock: clock(),
    choices: config(),
    exports: {
      ...{ epoch: deploymentSettings().epoch, rows: jobRows(), workflow: exportWorkflow(), settings: exportTypeSettings() },
      report: (error) => report(error, 'export'),
    },
    steps: (authenticator) => exportingSteps({ ...publicStepParts(), authenticator, maxBody: config().maxBodyBytes }),
    site: { baseUrl: deploymentSettings().baseUrl, reading: (tenant) => searchContexts().now(tenant) },
  }),
)

export async function startScheduledExport(event: ScheduleEvent): Promise<void> {
  await searchContexts().of(event.schedule.tenant, clock().now())
  try {
    await begin()(event)
  } finally {
    await audit().flush()
  }
}
