/** Ports of exports and matches on AWS. Jobs are rows of the state table, files are in the export bucket, and a state machine runs the work. */
import { DynamoDbGrants } from '../../adapters/dynamodb/rows/grants.ts'
import { DynamoDbRows } from '../../adapters/dynamodb/rows/rows.ts'
import { readSecretKey } from '../../adapters/dynamodb/rows/secret-key.ts'
import { lazyS3BlobCopier } from '../../adapters/s3/lazy-blob-copier.ts'
import { lazyS3BlobStore } from '../../adapters/s3/lazy-blob-store.ts'
import { StepFunctionsWorkflow } from '../../adapters/step-functions/workflow.ts'
import { DEFAULT_ADDITIONAL_RESOURCES } from '../../export/additional-resources.ts'
import type { TypeSettings } from '../../export/plan/exported-types.ts'
import { type MatchLimits, matchLimits } from '../../partners/guesses/match-limits.ts'
import type { BlobCopier } from '../../ports/blobs/blob-copier.ts'
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import type { Workflow } from '../../ports/execution/workflow.ts'
import type { Rows } from '../../ports/rows/rows.ts'
import { once } from '../once.ts'
import { logGuessing } from './log.ts'
import { clock, config, deploymentSettings, stateTable } from './ports.ts'

/** Rows of export jobs, and of the checkpoints that their steps store. */
export const jobRows: () => Rows = /* @__PURE__ */ once(() => new DynamoDbRows(stateTable()))

export const exportFiles: () => BlobStore = /* @__PURE__ */ once(() => lazyS3BlobStore(deploymentSettings().exportBucket))

/** Copies export files from the export bucket into buckets of other parties. */
export const exportCopier: () => BlobCopier = /* @__PURE__ */ once(() => lazyS3BlobCopier(deploymentSettings().exportBucket))

/**
 * Returns the settings for the types that exports include. The rules for additional resources are those of the stage: lib/bundle.ts writes
 * them into the bundle.
 */
export const exportTypeSettings = (): TypeSettings => ({
  groupTypes: config().groupExportTypes,
  additionalResources: DEFAULT_ADDITIONAL_RESOURCES,
})

export const exportWorkflow: () => Workflow = /* @__PURE__ */ once(() => new StepFunctionsWorkflow(deploymentSettings().exportWorkflow))

/** Limits of guesses by partners. */
export const matchLimitsOfPartners: () => MatchLimits = /* @__PURE__ */ once(() => {
  const now = (): number => clock().now()
  const alert = (line: string): void => logGuessing(line, { stage: deploymentSettings().stage, at: now() })
  return matchLimits({ grants: new DynamoDbGrants(stateTable(), now), readKey: () => readSecretKey(stateTable()), now, alert })
})
