/** The cloud home's scheduled exports. */
import type { ScheduleEvent } from '../../export/schedules/schedules.ts'
import { exportingSteps } from '../../http/pipelines/exporting.ts'
import { decidable } from '../authorization/condition-support.ts'
import { once } from '../once.ts'
import { clients } from './authorization.ts'
import { exportTypeSettings, exportWorkflow, jobRows } from './export-ports.ts'
import { unaskedParts } from './http-handler.ts'
import { report } from './log.ts'
import { audit, clock, config, places, reading, resources } from './ports.ts'
import { scheduledExport } from './scheduled-export.ts'

const begin = /* @__PURE__ */ once(() =>
  scheduledExport({
    clients: clients(),
    isDecidable: decidable((tenant) => reading().now(tenant)),
    resources: resources(),
    clock: clock(),
    choices: config(),
    exports: {
      ...{ epoch: places().epoch, rows: jobRows(), workflow: exportWorkflow(), settings: exportTypeSettings() },
      report: (error) => report(error, 'export'),
    },
    steps: (authenticator) => exportingSteps({ ...unaskedParts(), authenticator, maxBody: config().maxBodyBytes }),
    site: { baseUrl: places().baseUrl, reading: (tenant) => reading().now(tenant) },
  }),
)

export async function beginExport(event: ScheduleEvent): Promise<void> {
  await reading().refresh(clock().now())
  try {
    await begin()(event)
  } finally {
    await audit().flush()
  }
}
