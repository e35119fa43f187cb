/**
 * Ports on AWS, one export each: DynamoDB and S3 here, OpenSearch in search-index.ts, Step Functions in index-workers.ts. No object
 * contains all ports: each function in ../../functions imports what it needs, so its bundle contains nothing else.
 */
import { documentClient } from '../../adapters/dynamodb/client.ts'
import { DynamoDbAuditLog } from '../../adapters/dynamodb/rows/audit-log.ts'
import { DynamoDbRows } from '../../adapters/dynamodb/rows/rows.ts'
import { readSecretKey } from '../../adapters/dynamodb/rows/secret-key.ts'
import { DynamoDbSharedRows } from '../../adapters/dynamodb/rows/shared-rows.ts'
import { readSummary } from '../../adapters/dynamodb/rows/shared-rows-reader.ts'
import { DynamoDbCanonicals } from '../../adapters/dynamodb/store/canonicals.ts'
import { DynamoDbIdentifierRows, writerWithRows } from '../../adapters/dynamodb/store/identifier-rows.ts'
import { DynamoDbResourceStore } from '../../adapters/dynamodb/store/resource-store.ts'
import { TableClient } from '../../adapters/dynamodb/table-client.ts'
import { LazySeal } from '../../adapters/in-process/lazy-seal.ts'
import { SystemClock } from '../../adapters/in-process/system-clock.ts'
import { lazyS3BlobStore } from '../../adapters/s3/lazy-blob-store.ts'
import { lazyS3Packages } from '../../adapters/s3/lazy-packages.ts'
import type { BaseUrls } from '../../fhir/references.ts'
import { CachedSearchContexts } from '../../indexing/cached-search-contexts.ts'
import { ServingStateReader, type ServingSummary } from '../../indexing/lifecycle/serving-summary.ts'
import { openIndexState } from '../../indexing/lifecycle/shared-index-state.ts'
import type { SharedIndexState } from '../../indexing/lifecycle/state.ts'
import { INDEX_STATE, NO_STORED_STATE, type StoredState } from '../../indexing/lifecycle/stored-state.ts'
import { RebuildProgress } from '../../indexing/rebuild/rebuild-progress.ts'
import { definitionIssuesOf, type ProfileParts, tenantDefinitions } from '../../interactions/validation/profile-findings.ts'
import { type BasisProfiles, visibleStoreOf } from '../../interactions/visible-store.ts'
import { announcedCanonicalsOf, announcingWriter } from '../../interactions/writing/canonical-announcements.ts'
import { addedGuidesOf, supportedProfiles } from '../../packages/supported-profiles.ts'
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import type { AddedPackages } from '../../ports/definitions/package-store.ts'
import type { ExpressionRunner } from '../../ports/execution/expression-runner.ts'
import type { IndexProgress } from '../../ports/search/index-status.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import { identifierEntriesOf } from '../../search/documents/identifiers.ts'
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
/**
 * Maximum attempts of a DynamoDB call, and milliseconds per attempt. Together with the pauses they fit into the 29 seconds of API Gateway.
 */
const LIMITS = { attempts: 8, patience: 2_000 }

export const resourceTable = /* @__PURE__ */ once(() => new TableClient(client(), deploymentSettings().table, LIMITS, WORK_DEADLINE))
export const stateTable = /* @__PURE__ */ once(() => new TableClient(client(), deploymentSettings().stateTable, LIMITS, WORK_DEADLINE))

/** Store of large bodies, stored queries and lists of index tokens, in S3. */
export const blobs: () => BlobStore = /* @__PURE__ */ once(() => lazyS3BlobStore(deploymentSettings().bucket))

/** Writer of the records of disclosures. It also writes them to the archive if the stage has one. */
export const disclosureRecords: () => BlobWriter = /* @__PURE__ */ once(() => {
  const { auditBucket } = deploymentSettings()
  return auditBucket === '' ? blobs() : withArchive(blobs(), lazyS3BlobStore(auditBucket))
})

type BlobWriter = Pick<BlobStore, 'put'>

/** Returns a writer that stores each blob in the archive first, so that the archive lacks none that the store has. */
export const withArchive = (store: BlobWriter, archive: BlobWriter): BlobWriter => ({
  put: async (...blob) => {
    await archive.put(...blob)
    await store.put(...blob)
  },
})

/** Opens a store of resources. `settleTime`: see DynamoDbStoreOptions. `table`: name of its table. */
export const openStore = (settleTime?: number, table = deploymentSettings().table): DynamoDbResourceStore =>
  new DynamoDbResourceStore({
    client: client(),
    table,
    blobs: blobs(),
    clock: clock(),
    shards: (type) => deploymentSettings().indexShards[type] ?? 1,
    ...LIMITS,
    ends: WORK_DEADLINE,
    ...(settleTime === undefined ? {} : { settleTime }),
  })

/** Store of resources. The IAM role of each function decides whether it may write. */
export const store = /* @__PURE__ */ once(() => openStore())

/** Store of resources, filtered by the caller's access. */
export const resources = /* @__PURE__ */ once(() => visibleStoreOf(store(), expressions, basisProfiles))

/** Loaded profiles of claims without amounts. The code is loaded with the first view. */
export const basisProfiles: BasisProfiles = async () => (await loadedBasisProfiles())()

const loadedBasisProfiles = /* @__PURE__ */ once(async () => {
  const { basisProfilesOf } = await import('../../packages/basis-profiles.ts')
  return basisProfilesOf(addedPackages(), warn)
})

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

/** Evaluates expressions of clients. Starts at the first call, because most requests need none. */
export const expressions: () => ExpressionRunner = /* @__PURE__ */ once(() => {
  const runner = once(() => expressionRunner())
  return { evaluate: (...asked) => runner().evaluate(...asked) }
})

/** Packages of definitions that operators added. */
export const addedPackages: () => AddedPackages = /* @__PURE__ */ once(() =>
  lazyS3Packages(deploymentSettings().bucket, () => clock().now(), warn),
)

/** Profiles of the added packages. */
export const addedProfiles = /* @__PURE__ */ once(() => supportedProfiles(addedPackages(), warn))

/** ImplementationGuides of the added packages. */
export const addedGuides = /* @__PURE__ */ once(() => addedGuidesOf(addedPackages(), warn))

/** Definitions of the packages that operators added, and of those in the bundle. */
const packages = /* @__PURE__ */ once(() => definitionsOf(addedPackages(), warn))

/** Index of tenant definitions by canonical URL. `keptFor`: see DynamoDbCanonicalsOptions. */
const canonicals = (keptFor: number) => new DynamoDbCanonicals({ dynamo: resourceTable(), clock: clock(), keptFor })

/** Returns the definitions of packages and of tenants. `keptFor`: maximum milliseconds for which tenant definitions are cached. */
export const definitions = (keptFor: number): Pick<ProfileParts, 'conformance' | 'toldOfDefinition'> => ({
  conformance: tenantDefinitions({
    ...{ packages: packages(), canonicals: canonicals(keptFor), resources: store() },
    sharedTenant: config().sharedTenant,
  }),
  toldOfDefinition: (resource) => definitionIssuesOf(packages(), resource),
})

/**
 * Writer of the store. It adds identifier rows and announces the canonical URLs of definitions before it commits, so that searches by them
 * miss no version.
 */
export const definitionWriter = /* @__PURE__ */ once(() =>
  announcingWriter({
    writer: writerWithRows(store(), identifierRows()),
    resources: store(),
    notes: notes(),
    report: (error) => report(error, 'canonicals'),
  }),
)

const notes = /* @__PURE__ */ once(() => canonicals(0))

/** Announces the canonical URLs of stored definitions. The rebuild uses it for versions written before canonical URLs were announced. */
export const announceDefinitions = async (versions: Parameters<typeof announcedCanonicalsOf>[0]): Promise<void> => {
  const announced = await announcedCanonicalsOf(versions)
  if (announced.length > 0) await notes().announce(announced)
}

export const identifierRows = /* @__PURE__ */ once(() => new DynamoDbIdentifierRows(resourceTable(), clock()))

/** Adds the identifier rows of stored versions. Writers of an earlier release added none. */
export const addIdentifiers = (versions: readonly ResourceVersion[]): Promise<void> => identifierRows().add(identifierEntriesOf(versions))

export const rebuildProgress = /* @__PURE__ */ once(() => new RebuildProgress(new DynamoDbRows(stateTable())))

export const indexState: () => SharedIndexState = /* @__PURE__ */ once(() =>
  openIndexState(new DynamoDbSharedRows<StoredState, ServingSummary>(stateTable(), INDEX_STATE, NO_STORED_STATE), () => clock().now()),
)

const tenantIndexState = /* @__PURE__ */ once(async () => {
  const { openTenantIndexState } = await import('../tenant-index-state.ts')
  return openTenantIndexState(stateTable(), INDEX_STATE)
})

/** Loads its code at the first call, because most requests do not need it. */
export const indexProgress = (): IndexProgress => ({
  status: async (tenant) => (await tenantIndexState()).progress.status(tenant),
  parameters: async (tenant) => (await tenantIndexState()).progress.parameters(tenant),
})

const servingState = () =>
  new ServingStateReader(
    () => readSummary<ServingSummary>(stateTable(), INDEX_STATE),
    async () => (await tenantIndexState()).details,
  )

/**
 * Returns the base URLs that count as the server's own. The first one stays the same if the stage gets a new address, so index documents
 * remain valid.
 */
function ownBases(): BaseUrls {
  const [baseUrl = deploymentSettings().baseUrl, ...otherBases] = deploymentSettings()
    .ownBases.split(' ')
    .filter((base) => base !== '')
  return { baseUrl, ...(otherBases.length === 0 ? {} : { otherBases }) }
}

/** Search context of this deployment, without custom parameters. */
export const baseSearchContext: () => SearchContext = /* @__PURE__ */ once(() => searchContextOf(config(), ownBases()))

/** Search contexts of the tenants, with their custom parameters. */
export const searchContexts = /* @__PURE__ */ once(() => new CachedSearchContexts(servingState(), baseSearchContext()))
