/** Functions on AWS that index the stream, watch the index and rebuild it. */
import { DynamoDbRows } from '../../adapters/dynamodb/rows/rows.ts'
import { continueBodySweep, sweepBodies, type WriteTimeRange } from '../../adapters/dynamodb/store/body-sweep.ts'
import { heartbeatOfRecord } from '../../adapters/dynamodb/stream/heartbeat.ts'
import {
  isOfTable,
  type StreamEvent,
  type StreamRecord,
  transactionOfRecord,
  versionOfRecord,
} from '../../adapters/dynamodb/stream/stream.ts'
import { StepFunctionsWorkflow } from '../../adapters/step-functions/workflow.ts'
import { MOST_TENANTS } from '../../indexing/cached-search-contexts.ts'
import { documentFormatOf } from '../../indexing/document-format.ts'
import { applyVersions } from '../../indexing/lifecycle/definitions.ts'
import { endDeployment, mayLackIdentifierRows, recordLosses, requestReindex } from '../../indexing/lifecycle/identifier-rows.ts'
import { hasExpiredIndex, recordMissedVersions, requestOutdatedRebuilds } from '../../indexing/lifecycle/index-retention.ts'
import { isWorkerGone, isWorkerNeeded } from '../../indexing/lifecycle/rebuild-queue.ts'
import { exclusiveInstantOf } from '../../indexing/lifecycle/restore.ts'
import { addIndices, markHeartbeats, markLost, withIdentity } from '../../indexing/lifecycle/serving-indices.ts'
import { changeByTenant, moveTenantParts } from '../../indexing/lifecycle/shared-index-state.ts'
import { ALL_REBUILDS, type IndexState, NO_IDENTITY } from '../../indexing/lifecycle/state.ts'
import { rebuildStep } from '../../indexing/rebuild/rebuild-steps.ts'
import { followedUntil, heartbeatAgeOf, isIncomplete } from '../../indexing/stream/heartbeat.ts'
import { followStream, type PartialBatchResponse } from '../../indexing/stream/stream-follower.ts'
import { UnindexableVersions } from '../../indexing/stream/unindexable-versions.ts'
import { TenantSearchContexts } from '../../indexing/tenant-search-contexts.ts'
import type { VersionedValue } from '../../ports/rows/shared-state.ts'
import type { Reindexer } from '../../ports/search/index-status.ts'
import type { ServingIndices } from '../../ports/search/serving-indices.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import type { SearchContextOf } from '../../search/search-context.ts'
import { once } from '../once.ts'
import { INDEX_SWEEP_MS, REBUILD_STEP_MS, SWEEP_MS } from '../step-times.ts'
import { Heartbeats } from './heartbeats.ts'
import { logHeartbeatAge, logLargestShard, logLostIndices, logMetric, report, warn } from './log.ts'
import {
  addIdentifiers,
  announceDefinitions,
  baseSearchContext,
  blobs,
  clock,
  deploymentSettings,
  expressions,
  indexState,
  openStore,
  rebuildProgress,
  resourceTable,
  stateTable,
  store,
} from './ports.ts'
import { openIndex } from './search-index.ts'
import { registerAddedPackages } from './sweeps/package-parameters.ts'

const workflow = /* @__PURE__ */ once(() => new StepFunctionsWorkflow(deploymentSettings().rebuildWorkflow))

/**
 * Starts a rebuild if one is pending and no worker runs that would take it. `number`, `again`: parts of the execution name. A repeated call
 * with the same name starts nothing.
 */
export async function startRebuild({ number, value }: VersionedValue<IndexState>, again = ''): Promise<void> {
  if (isWorkerNeeded(value) && isWorkerGone(value, clock().now())) await workflow().start(`rebuild-${number}${again}`, {})
}

export const reindex = (): Reindexer => ({
  start: async (tenant, types) =>
    startRebuild(await indexState().change((state) => requestReindex(state, tenant, types), { rebuilds: [tenant] })),
})

const poisoned = /* @__PURE__ */ once(() => new UnindexableVersions(indexState()))
/** Opens the index for writing. `onLost`: called if an index is missing, with the state that requests its rebuild. */
const openDocuments = (onLost: (state: VersionedValue<IndexState>) => Promise<void>) =>
  openIndex({
    onPoison: poisoned().addDocument,
    async live() {
      const { value } = await indexState().read()
      return value.identity === NO_IDENTITY ? changedIndices((state) => state) : value
    },
    register: {
      begun: (types, identity) => changedIndices((state) => addIndices(state, types, identity)),
      async lost(missing) {
        const fresh = newIdentity()
        await onLost(await indexState().change((state) => recordLosses(state, markLost(withIdentity(state, fresh), missing, fresh))))
      },
    },
  })

const documents = /* @__PURE__ */ once(() => openDocuments(startRebuild))

async function changedIndices(change: (state: IndexState) => IndexState): Promise<ServingIndices> {
  const fresh = newIdentity()
  const { value } = await indexState().change((state) => change(withIdentity(state, fresh)))
  return withIdentity(value, fresh)
}

export const newIdentity = (): string => clock().newId().slice(-12)

const recordsOf = ({ Records }: StreamEvent): readonly StreamRecord[] =>
  Records.filter((record) => isOfTable(record, deploymentSettings().table))

/** Heartbeats that run through the stream and show up to which time the indices have followed it. */
const heartbeats = /* @__PURE__ */ once(
  () =>
    new Heartbeats({
      tell: (sent, held) => documents().pulse(sent, held),
      missed: async (since) => {
        await indexState().change((state) => requestOutdatedRebuilds(recordMissedVersions(state, since), extraction()), ALL_REBUILDS)
      },
    }),
)

/**
 * Event of the stream or of the schedule. `index`, every minute: sends a heartbeat if it is due, and checks that every index exists and is
 * the expected one.
 */
export type IndexEvent = StreamEvent | { readonly sweep: 'index' }

export const extraction = /* @__PURE__ */ once(() => documentFormatOf(baseSearchContext()))

/** Returns how long an index is retained after its replacement, in milliseconds. */
const keptFor = (): number => deploymentSettings().keptIndexDays * DAY

/** Requests rebuilds of outdated indices. Starts the rebuild if a replaced index has expired, because only the rebuild removes indices. */
async function tendKept(): Promise<void> {
  const { number, value } = await indexState().change((state) => requestOutdatedRebuilds(state, extraction()), ALL_REBUILDS)
  const at = clock().now()
  if (hasExpiredIndex(value, at - keptFor())) await workflow().start(`rebuild-${number}-${Math.floor(at / 60_000)}`, {})
}

/** Indexes the records of the stream and records the heartbeats among them. On the schedule, sends a heartbeat and checks the indices. */
export async function followHeads(event: IndexEvent): Promise<PartialBatchResponse> {
  if ('sweep' in event) {
    const until = clock().now() + INDEX_SWEEP_MS
    await tendIndices()
    await tendKept()
    await moveTenantParts(indexState(), () => clock().now() >= until)
    return { batchItemFailures: [] }
  }
  const Records = recordsOf(event)
  const follow = followStream<StreamRecord>({
    index: documents(),
    versionOf: (record) => versionOfRecord(record, blobs()),
    readingAfter,
    expressions: expressions(),
    onPoison: poisoned().addVersion,
    report,
  })
  const result = await follow({ Records })
  await poisoned().save()
  tellLag(Records, result)
  if (Records.some((record) => heartbeatOfRecord(record) === undefined)) await heartbeats().noteWrites()
  await heartbeats().follow(takenOf(Records, result).flatMap((record) => heartbeatOfRecord(record) ?? []))
  return result
}

/**
 * Returns the records before the first failed one. The others do not count as processed, because Lambda delivers the failed record and all
 * later ones again.
 */
function takenOf(records: readonly StreamRecord[], { batchItemFailures }: PartialBatchResponse): readonly StreamRecord[] {
  const failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier))
  const first = records.findIndex(({ dynamodb }) => failed.has(dynamodb?.SequenceNumber ?? ''))
  return first === -1 ? records : records.slice(0, first)
}

/**
 * Sends a heartbeat if it is due. Logs the age of the last one that arrived, the lost indices and the largest shard. Also measures the table's
 * index if OpenSearch does not respond.
 */
async function tendIndices(): Promise<void> {
  const [at, { stage }] = [clock().now(), deploymentSettings()]
  const { state: sent, measuring } = await heartbeats().send(at)
  try {
    const marked = (state: IndexState) => endDeployment(markHeartbeats(state, isIncomplete(sent, at)), followedUntil(sent))
    const { types } = (await indexState().change(marked)).value
    logHeartbeatAge(heartbeatAgeOf(sent, types, at), { stage, at })
    await heartbeats().collect()
    logLostIndices(await documents().tend(sent.held), { stage, at })
    await measureShards({ stage, at })
  } finally {
    await measuring
  }
}

/** Logs the largest shard. Only logs a failure, because a cluster outside the stage may reject the request. */
async function measureShards(about: { readonly stage: string; readonly at: number }): Promise<void> {
  try {
    const largest = await documents().largestShard()
    if (largest !== undefined) logLargestShard(largest, about)
  } catch (error) {
    report(error, 'largest shard')
  }
}

const readings = /* @__PURE__ */ once(() => new TenantSearchContexts(baseSearchContext(), 'documents', MOST_TENANTS))

/**
 * Returns the search contexts that include these versions, so that a SearchParameter applies to documents of the same batch. Records the
 * versions in the index state. Starts a rebuild if there are SearchParameters. Adds identifier rows that their writer may have left out.
 */
async function readingAfter(versions: readonly ResourceVersion[]): Promise<SearchContextOf> {
  const apply = (before: IndexState, some: readonly ResourceVersion[]) => applyVersions(before, some, extraction())
  const state = await changeByTenant(indexState(), versions, apply, ['definitions', 'poisoned'])
  if (versions.some(({ type }) => type === 'SearchParameter')) await startRebuild(await indexState().read(ALL_REBUILDS))
  await addIdentifiers(versions.filter(({ type }) => mayLackIdentifierRows(state.value, type)))
  return (tenant) => readings().of(state.value, tenant)
}

/**
 * Logs the milliseconds from commit to index document of each indexed version, as a metric. The stream gives commit times in whole seconds.
 */
function tellLag(records: readonly StreamRecord[], { batchItemFailures }: PartialBatchResponse): void {
  const failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier))
  const now = clock().now()
  const versions = records.filter((record) => heartbeatOfRecord(record) === undefined)
  const lags = versions.flatMap(({ dynamodb: { SequenceNumber = '', ApproximateCreationDateTime: at } = {} }) =>
    at === undefined || failed.has(SequenceNumber) ? [] : [Math.max(0, now - at * 1000)],
  )
  logMetric('IndexLag', 'Milliseconds', lags, { stage: deploymentSettings().stage, at: now })
}

/**
 * Event of a schedule. `transactions`, every minute: settles transactions whose coordinator died, and starts pending rebuilds again.
 * `bodies`, every hour: continues to remove large bodies to which no version refers.
 */
export type SweepEvent = { readonly sweep: 'transactions' | 'bodies' }

/**
 * Settles the large transactions in the stream. On the schedules, settles abandoned transactions, starts pending rebuilds again, and
 * removes unused bodies.
 */
export async function settleTransactions(event: StreamEvent | SweepEvent): Promise<PartialBatchResponse> {
  if ('sweep' in event) {
    await (event.sweep === 'bodies' ? sweepUnusedBodies() : sweepTransactions())
    return { batchItemFailures: [] }
  }
  const failed: string[] = []
  for (const record of recordsOf(event)) {
    const sequence = record.dynamodb?.SequenceNumber ?? ''
    const transaction = transactionOfRecord(record)
    try {
      if (transaction !== undefined) await store().settleTransaction(transaction.tenant, transaction.id)
    } catch (error) {
      report(error, sequence)
      failed.push(sequence)
    }
  }
  return { batchItemFailures: failed.map((itemIdentifier) => ({ itemIdentifier })) }
}

const DAY = 24 * 60 * 60_000

/** Removes unused bodies. After a restore it retains those written before it: versions of the previous table may refer to them. */
async function sweepUnusedBodies(): Promise<void> {
  const from = exclusiveInstantOf((await indexState().read()).value, deploymentSettings().epoch)
  const checkPage = (written: WriteTimeRange, after: string) => sweepBodies(resourceTable(), blobs(), written, after)
  const rows = new DynamoDbRows(stateTable())
  await continueBodySweep({ rows, checkPage, from, budget: SWEEP_MS, now: () => clock().now() }).catch((error) => {
    if (error instanceof AggregateError) for (const each of error.errors) report(each, 'bodies')
    throw error
  })
}

/** Settles abandoned transactions, registers the search parameters of packages and starts pending rebuilds. Runs all, even if one fails. */
async function sweepTransactions(): Promise<void> {
  const again = async () => startRebuild(await indexState().read(ALL_REBUILDS), `-${Math.floor(clock().now() / 60_000)}`)
  const registered = registerAddedPackages().catch((error) => report(error, 'packages'))
  const results = await Promise.allSettled([store().sweep(), registered.then(again)])
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

/**
 * Step of the rebuild. Its scans do not wait until the table's index shows all concurrent writes, because the stream indexes those in both
 * search indices.
 */
export const rebuild = /* @__PURE__ */ once(() =>
  rebuildStep({
    state: indexState(),
    progress: rebuildProgress(),
    warn,
    resources: openStore(0),
    former: (table) => openStore(0, table),
    epoch: deploymentSettings().epoch,
    newIdentity,
    // This rebuild is running and picks up new requests itself, so start none.
    index: openDocuments(async () => {}),
    reading: baseSearchContext(),
    extraction: extraction(),
    keepFor: keptFor(),
    expressions: expressions(),
    now: () => clock().now(),
    wait: deploymentSettings().rebuildWait,
    budget: REBUILD_STEP_MS,
    poisoned: poisoned(),
    announce: announceDefinitions,
    addIdentifiers,
  }),
)
