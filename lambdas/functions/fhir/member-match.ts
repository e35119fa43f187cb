/** Matches of members: `$member-match`, and the kick-off of matches of many members. */
import { operatingSteps } from '../../http/pipelines/operating.ts'
import { writingSteps } from '../../http/pipelines/writing.ts'
import { startBulkMatch } from '../../interactions/operations/bulk-match.ts'
import { levelMatch } from '../../interactions/operations/level-match.ts'
import { memberMatch } from '../../interactions/operations/member-match.ts'
import { recordedMatch } from '../../interactions/operations/recorded-match.ts'
import { exportFiles, exportWorkflow, jobRows, matchLimitsOfPartners } from '../../runtime/aws/export-ports.ts'
import { httpHandler } from '../../runtime/aws/http-handler.ts'
import { report } from '../../runtime/aws/log.ts'
import { clock, config, deploymentSettings, disclosureRecords, seal, searchContexts } from '../../runtime/aws/ports.ts'
import { bodyStepParts, writePorts } from '../../runtime/aws/search-index.ts'

const parts = bodyStepParts()

const bulk = {
  ...{ clock: clock(), choices: config(), matchLimits: matchLimitsOfPartners() },
  exports: {
    ...{ epoch: deploymentSettings().epoch, rows: jobRows(), workflow: exportWorkflow(), blobs: exportFiles() },
    report: (error: unknown) => report(error, 'export'),
  },
}

export const handler = httpHandler<'member-match'>({
  interactions: {
    'member-match': levelMatch(
      recordedMatch(memberMatch({ ...writePorts(), ...bulk }), { disclosures: disclosureRecords(), clock: clock() }),
    ),
    'bulk-member-match': startBulkMatch(bulk, 'payer'),
    'provider-member-match': startBulkMatch(bulk, 'provider'),
  },
  steps: { ...writingSteps(parts), ...operatingSteps(parts) },
  reading: searchContexts(),
  seal: seal(),
})
