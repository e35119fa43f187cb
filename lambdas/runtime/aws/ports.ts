/**
 * The cloud home, port by port: DynamoDB and S3 here, OpenSearch in search-index.ts, Step Functions in index-workers.ts. Each function of ../../functions
 * names the ports it needs, and its bundle carries no others: so one export for each, and never an object of them.
 */
import { documentClient } from '../../adapters/dynamodb/client.ts'
import { DynamoDbAuditLog } from '../../adapters/dynamodb/rows/audit-log.ts'
import { readSecretKey } from '../../adapters/dynamodb/rows/secret-key.ts'
import { DynamoDbKeptState } from '../../adapters/dynamodb/rows/shared-state.ts'
import { DynamoDbCanonicals } from '../../adapters/dynamodb/store/canonicals.ts'
import { DynamoDbResourceStore } from '../../adapters/dynamodb/store/resource-store.ts'
import { Dynamo } from '../../adapters/dynamodb/table-client.ts'
import { OpenedSeal } from '../../adapters/in-process/lazy-seal.ts'
import { SystemClock } from '../../adapters/in-process/system-clock.ts'
import { lazyS3BlobStore } from '../../adapters/s3/lazy-blob-store.ts'
import { lazyS3Packages } from '../../adapters/s3/lazy-packages.ts'
import type { Bases } from '../../fhir/references.ts'
import { KnownReading } from '../../indexing/cached-search-contexts.ts'
import { NO_STATE, type SharedState, statusOf } from '../../indexing/index-state.ts'
import { ownDefinitions, type ProfileParts, toldOfDefinition } from '../../interactions/validation/profile-findings.ts'
import { seenThrough } from '../../interactions/visible-store.ts'
import { announcedBy, announcingWriter } from '../../interactions/writing/canonical-announcements.ts'
import { supportedProfiles } from '../../packages/supported-profiles.ts'
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import type { AddedPackages } from '../../ports/definitions/package-store.ts'
import type { ExpressionRunner } from '../../ports/execution/expression-runner.ts'
import type { IndexProgress } from '../../ports/search/index-status.ts'
import type { Reading } from '../../search/search-context.ts'
import { type Places, readConfig, readPlaces } from '../config.ts'
import { definitionsOf } from '../definitions.ts'
import { expressionRunner } from '../expressions/forked-expressions.ts'
import { once } from '../once.ts'
import { readingOf } from '../search-context.ts'
import { RECORD, WORK } from './deadlines.ts'
import { report, tellOfUnrecorded, warn } from './log.ts'

export const config = /* @__PURE__ */ once(() => readConfig())
export const places: () => Places = /* @__PURE__ */ once(() => readPlaces())
export const clock = /* @__PURE__ */ once(() => new SystemClock())

const client = /* @__PURE__ */ once(() => documentClient())
/** What one call may take, ms, and how often it is tried: within the 29 seconds of the gateway. */
const LIMITS = { attempts: 8, patience: 2_000 }

export const resourceTable = /* @__PURE__ */ once(() => new Dynamo(client(), places().table, LIMITS, WORK))
export const stateTable = /* @__PURE__ */ once(() => new Dynamo(client(), places().stateTable, LIMITS, WORK))

/** Large bodies, kept queries, lists of tokens. */
export const blobs: () => BlobStore = /* @__PURE__ */ once(() => lazyS3BlobStore(places().bucket))

/** `settleTime`: see DynamoDbStoreOptions. */
export const openStore = (settleTime?: number, table = places().table): DynamoDbResourceStore =>
  new DynamoDbResourceStore({
    client: client(),
    table,
    blobs: blobs(),
    clock: clock(),
    ...LIMITS,
    ends: WORK,
    ...(settleTime === undefined ? {} : { settleTime }),
  })

/** Reader and writer. What a function may do with it is its role's affair. */
export const store = /* @__PURE__ */ once(() => openStore())

/** As requests see them. */
export const resources = /* @__PURE__ */ once(() => seenThrough(store(), expressions))

export const audit = /* @__PURE__ */ once(
  () =>
    new DynamoDbAuditLog({
      dynamo: new Dynamo(client(), places().stateTable, LIMITS, RECORD),
      retentionDays: config().auditRetentionDays,
      durability: config().auditDurability,
      newId: () => clock().newId(),
      onError: (error, unwritten) => tellOfUnrecorded(error, unwritten, { stage: places().stage, at: clock().now() }),
    }),
)

export const seal = /* @__PURE__ */ once(() => new OpenedSeal(() => readSecretKey(stateTable()), places().epoch))

/** Its code is loaded when it is first needed: most requests need none. */
export const expressions: () => ExpressionRunner = /* @__PURE__ */ once(() => {
  const runner = once(() => expressionRunner())
  return { evaluate: (...asked) => runner().evaluate(...asked) }
})

/** Those that operators added. */
export const addedPackages: () => AddedPackages = /* @__PURE__ */ once(() => lazyS3Packages(places().bucket, () => clock().now(), warn))

/** Their profiles. */
export const addedProfiles = /* @__PURE__ */ once(() => supportedProfiles(addedPackages(), warn))

/** And files beside the code. */
const packages = /* @__PURE__ */ once(() => definitionsOf(addedPackages(), warn))

/** What is behind definitions that tenants write. `keptFor`: see DynamoDbCanonicalsOptions. */
const canonicals = (keptFor: number) => new DynamoDbCanonicals({ dynamo: resourceTable(), clock: clock(), keptFor })

/** Packages, and what tenants wrote, as late as that. */
export const definitions = (keptFor: number): Pick<ProfileParts, 'conformance' | 'toldOfDefinition'> => ({
  conformance: ownDefinitions({ packages: packages(), canonicals: canonicals(keptFor), resources: store() }),
  toldOfDefinition: (resource) => toldOfDefinition(packages(), resource),
})

/** Tells first which definitions it writes. */
export const definingWriter = /* @__PURE__ */ once(() =>
  announcingWriter({ writer: store(), resources: store(), notes: notes(), report: (error) => report(error, 'canonicals') }),
)

const notes = /* @__PURE__ */ once(() => canonicals(0))

/** Also where they were written before this was told. */
export const define = async (versions: Parameters<typeof announcedBy>[0]): Promise<void> => {
  const announced = await announcedBy(versions)
  if (announced.length > 0) await notes().announce(announced)
}

export const indexState: () => SharedState = /* @__PURE__ */ once(() => new DynamoDbKeptState(stateTable(), 'DEFINITIONS', NO_STATE))

export const progress = (): IndexProgress => ({ status: async (tenant) => statusOf((await indexState().read()).value, tenant) })

/** The first stays as it is whatever a stage is called, so that documents stay with it. */
function ownBases(): Bases {
  const [baseUrl = places().baseUrl, ...otherBases] = places()
    .ownBases.split(' ')
    .filter((base) => base !== '')
  return { baseUrl, ...(otherBases.length === 0 ? {} : { otherBases }) }
}

/** How texts are read, before anybody defined a parameter. */
export const plainReading: () => Reading = /* @__PURE__ */ once(() => readingOf(config(), ownBases()))

/** And with what a tenant has defined. */
export const reading = /* @__PURE__ */ once(() => new KnownReading(indexState(), plainReading()))
