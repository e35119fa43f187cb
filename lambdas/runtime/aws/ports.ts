/**
 * The cloud home, port by port: DynamoDB and S3 here, OpenSearch in search-index.ts, Step Functions in index-workers.ts. Each function of ../../functions
 * names the ports it needs, and its bundle carries no others: so one export for each, and never an object of them.
 */
import { documentClient } from '../../adapters/dynamodb/client.ts'
import { DynamoDbAuditLog } from '../../adapters/dynamodb/rows/audit-log.ts'
import { readSecretKey } from '../../adapters/dynamodb/rows/secret-key.ts'
import { DynamoDbSharedState } from '../../adapters/dynamodb/rows/shared-state.ts'
import { DynamoDbCanonicals } from '../../adapters/dynamodb/store/canonicals.ts'
import { DynamoDbResourceStore } from '../../adapters/dynamodb/store/resource-store.ts'
import { TableClient } from '../../adapters/dynamodb/table-client.ts'
import { LazySeal } from '../../adapters/in-process/lazy-seal.ts'
import { SystemClock } from '../../adapters/in-process/system-clock.ts'
import { lazyS3BlobStore } from '../../adapters/s3/lazy-blob-store.ts'
import { lazyS3Packages } from '../../adapters/s3/lazy-packages.ts'
import type { BaseUrls } from '../../fhir/references.ts'
import { CachedSearchContexts } from '../../indexing/cached-search-contexts.ts'
import { NO_STATE, type SharedIndexState, statusOf } from '../../indexing/index-state.ts'
import { definitionIssuesOf, type ProfileParts, tenantDefinitions } from '../../interactions/validation/profile-findings.ts'
import { visibleStoreOf } from '../../interactions/visible-store.ts'
import { announcedCanonicalsOf, announcingWriter } from '../../interactions/writing/canonical-announcements.ts'
import { supportedProfiles } from '../../packages/supported-profiles.ts'
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import type { AddedPackages } from '../../ports/definitions/package-store.ts'
import type { ExpressionRunner } from '../../ports/execution/expression-runner.ts'
import type { IndexProgress } from '../../ports/search/index-status.ts'
import type { SearchContext } from '../../search/search-context.ts'
import { type DeploymentSettings, readConfig, readDeploymentSettings } from '../config.ts'
import { definitionsOf } from '../definitions.ts'
import { expressionRunner } from '../expressions/forked-expressions.ts'
import { once } from '../once.ts'
import { searchContextOf } from '../search-context.ts'
import { AUDIT_DEADLINE, WORK_DEADLINE } from './deadlines.ts'
import { logUnwrittenAudit, report, warn } from './log.ts'

export const config = /* @__PURE__ */ once(() => readConfig())
export const deploymentSettings: () => DeploymentSettings = /* @__PURE__ */ once(() => readDeploymentSettings())
export const clock = /* @__PURE__ */ once(() => new SystemClock())

const client = /* @__PURE__ */ once(() => documentClient())
/** What one call may take, ms, and how often it is tried: within the 29 seconds of the gateway. */
const LIMITS = { attempts: 8, patience: 2_000 }

export const resourceTable = /* @__PURE__ */ once(() => new TableClient(client(), deploymentSettings().table, LIMITS, WORK_DEADLINE))
export const stateTable = /* @__PURE__ */ once(() => new TableClient(client(), deploymentSettings().stateTable, LIMITS, WORK_DEADLINE))

/** Large bodies, kept queries, lists of tokens. */
export const blobs: () => BlobStore = /* @__PURE__ */ once(() => lazyS3BlobStore(deploymentSettings().bucket))

/** `settleTime`: see DynamoDbStoreOptions. */
export const openStore = (settleTime?: number, table = deploymentSettings().table): DynamoDbResourceStore =>
  new DynamoDbResourceStore({
    client: client(),
    table,
    blobs: blobs(),
    clock: clock(),
    ...LIMITS,
    ends: WORK_DEADLINE,
    ...(settleTime === undefined ? {} : { settleTime }),
  })

/** Reader and writer. What a function may do with it is its role's affair. */
export const store = /* @__PURE__ */ once(() => openStore())

/** As requests see them. */
export const resources = /* @__PURE__ */ once(() => visibleStoreOf(store(), expressions))

export const audit = /* @__PURE__ */ once(
  () =>
    new DynamoDbAuditLog({
      dynamo: new TableClient(client(), deploymentSettings().stateTable, LIMITS, AUDIT_DEADLINE),
      retentionDays: config().auditRetentionDays,
      durability: config().auditDurability,
      newId: () => clock().newId(),
      onError: (error, unwritten) => logUnwrittenAudit(error, unwritten, { stage: deploymentSettings().stage, at: clock().now() }),
    }),
)

export const seal = /* @__PURE__ */ once(() => new LazySeal(() => readSecretKey(stateTable()), deploymentSettings().epoch))

/** Its code is loaded when it is first needed: most requests need none. */
export const expressions: () => ExpressionRunner = /* @__PURE__ */ once(() => {
  const runner = once(() => expressionRunner())
  return { evaluate: (...asked) => runner().evaluate(...asked) }
})

/** Those that operators added. */
export const addedPackages: () => AddedPackages = /* @__PURE__ */ once(() =>
  lazyS3Packages(deploymentSettings().bucket, () => clock().now(), warn),
)

/** Their profiles. */
export const addedProfiles = /* @__PURE__ */ once(() => supportedProfiles(addedPackages(), warn))

/** And files beside the code. */
const packages = /* @__PURE__ */ once(() => definitionsOf(addedPackages(), warn))

/** What is behind definitions that tenants write. `keptFor`: see DynamoDbCanonicalsOptions. */
const canonicals = (keptFor: number) => new DynamoDbCanonicals({ dynamo: resourceTable(), clock: clock(), keptFor })

/** Packages, and what tenants wrote, as late as that. */
export const definitions = (keptFor: number): Pick<ProfileParts, 'conformance' | 'toldOfDefinition'> => ({
  conformance: tenantDefinitions({ packages: packages(), canonicals: canonicals(keptFor), resources: store() }),
  toldOfDefinition: (resource) => definitionIssuesOf(packages(), resource),
})

/** Tells first which definitions it writes. */
export const definitionWriter = /* @__PURE__ */ once(() =>
  announcingWriter({ writer: store(), resources: store(), notes: notes(), report: (error) => report(error, 'canonicals') }),
)

const notes = /* @__PURE__ */ once(() => canonicals(0))

/** Also where they were written before this was told. */
export const announceDefinitions = async (versions: Parameters<typeof announcedCanonicalsOf>[0]): Promise<void> => {
  const announced = await announcedCanonicalsOf(versions)
  if (announced.length > 0) await notes().announce(announced)
}

export const indexState: () => SharedIndexState = /* @__PURE__ */ once(() => new DynamoDbSharedState(stateTable(), 'DEFINITIONS', NO_STATE))

export const indexProgress = (): IndexProgress => ({ status: async (tenant) => statusOf((await indexState().read()).value, tenant) })

/** The first stays as it is whatever a stage is called, so that documents stay with it. */
function ownBases(): BaseUrls {
  const [baseUrl = deploymentSettings().baseUrl, ...otherBases] = deploymentSettings()
    .ownBases.split(' ')
    .filter((base) => base !== '')
  return { baseUrl, ...(otherBases.length === 0 ? {} : { otherBases }) }
}

/** How texts are read, before anybody defined a parameter. */
export const baseSearchContext: () => SearchContext = /* @__PURE__ */ once(() => searchContextOf(config(), ownBases()))

/** And with what a tenant has defined. */
export const searchContexts = /* @__PURE__ */ once(() => new CachedSearchContexts(indexState(), baseSearchContext()))
