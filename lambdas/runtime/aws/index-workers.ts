/** The cloud home's functions behind the stream, the schedule and the rebuild. */
import { DynamoDbSharedState } from '../../adapters/dynamodb/rows/shared-state.ts'
import { heartbeatItem, heartbeatOfRecord } from '../../adapters/dynamodb/stream/heartbeat.ts'
import { isOfTable, type StreamRecord, transactionOfRecord, versionOfRecord } from '../../adapters/dynamodb/stream/stream.ts'
import { StepFunctionsWorkflow } from '../../adapters/step-functions/workflow.ts'
import { documentFormatOf } from '../../indexing/document-format.ts'
import { followHeartbeat, type HeartbeatParts, heartbeatAgeOf, NO_HEARTBEAT, sendHeartbeat } from '../../indexing/heartbeat.ts'
import { hasExpiredIndex, recordFollowedVersions, recordMissedVersions, requestOutdatedRebuilds } from '../../indexing/index-retention.ts'
import {
  applySearchParameter,
  clearUnindexable,
  type IndexState,
  isWorkerGone,
  isWorkerNeeded,
  requestRebuild,
} from '../../indexing/index-state.ts'
import { rebuildStep } from '../../indexing/rebuild-steps.ts'
import { exclusiveInstantOf } from '../../indexing/restore.ts'
import { addIndices, type IdentifiedState, markLost, withIdentity } from '../../indexing/serving-indices.ts'
import { followStream, type PartialBatchResponse } from '../../indexing/stream-follower.ts'
import { TenantSearchContexts } from '../../indexing/tenant-search-contexts.ts'
import { UnindexableVersions } from '../../indexing/unindexable-versions.ts'
import type { VersionedValue } from '../../ports/rows/shared-state.ts'
import type { ShardHeartbeat } from '../../ports/search/heartbeat.ts'
import type { Reindexer } from '../../ports/search/index-status.ts'
import type { ServingIndices } from '../../ports/search/serving-indices.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import type { SearchContextOf } from '../../search/search-context.ts'
import { once } from '../once.ts'
import { logHeartbeatAge, logLostIndices, logMetric, report } from './log.ts'
import {
  announceDefinitions,
  baseSearchContext,
  blobs,
  clock,
  deploymentSettings,
  expressions,
  indexState,
  openStore,
  resourceTable,
  stateTable,
  store,
} from './ports.ts'
import { openIndex } from './search-index.ts'
import { reportTableIndexLag } from './table-index-lag.ts'

const workflow = /* @__PURE__ */ once(() => new StepFunctionsWorkflow(deploymentSettings().rebuildWorkflow))

/** Unless somebody is at it, who will take it all. `number` makes a name for each wish, so that one that is repeated starts nothing twice. */
export async function startRebuild({ number, value }: VersionedValue<IndexState>, again = ''): Promise<void> {
  if (isWorkerNeeded(value) && isWorkerGone(value, clock().now())) await workflow().start(`rebuild-${number}${again}`, {})
}

export const reindex = (): Reindexer => ({
  start: async (tenant, types) => startRebuild(await indexState().change((state) => requestRebuild(state, tenant, types))),
})

type StreamEvent = { readonly Records: readonly StreamRecord[] }

const poisoned = /* @__PURE__ */ once(() => new UnindexableVersions(indexState()))
/** `onLost`: gets what is wanted when an index was found missing. */
const openDocuments = (onLost: (state: VersionedValue<IndexState>) => Promise<void>) =>
  openIndex({
    onPoison: poisoned().addDocument,
    live: async () => (await indexState().read()).value.live ?? changedIndices((state) => state),
    register: {
      begun: (types, identity) => changedIndices((state) => addIndices(state, types, identity)),
      async lost(missing) {
        const fresh = newIdentity()
        await onLost(await indexState().change((state) => markLost(withIdentity(state, fresh), missing, fresh)))
      },
    },
  })

const documents = /* @__PURE__ */ once(() => openDocuments(startRebuild))

async function changedIndices(change: (state: IdentifiedState) => IdentifiedState): Promise<ServingIndices> {
  const fresh = newIdentity()
  const { value } = await indexState().change((state) => change(withIdentity(state, fresh)))
  return withIdentity(value, fresh).live
}

export const newIdentity = (): string => clock().newId().slice(-12)

const recordsOf = ({ Records }: StreamEvent): readonly StreamRecord[] =>
  Records.filter((record) => isOfTable(record, deploymentSettings().table))

/** The pulse of the stream: how far it has come. */
const pulse = /* @__PURE__ */ once(
  (): HeartbeatParts => ({
    state: new DynamoDbSharedState(stateTable(), 'PULSE', NO_HEARTBEAT),
    send: (beats) => resourceTable().putAll(beats.map(heartbeatItem)),
    tell: (sent, held) => documents().pulse(sent, held),
    missed: async (since) => {
      await indexState().change((state) => requestOutdatedRebuilds(recordMissedVersions(state, since), extraction()))
    },
  }),
)

/** `index`: every minute, a pulse, and whether all indices are there, and as they were. */
export type IndexEvent = StreamEvent | { readonly sweep: 'index' }

export const extraction = /* @__PURE__ */ once(() => documentFormatOf(baseSearchContext()))

/** ms. */
const keptFor = (): number => deploymentSettings().keptIndexDays * DAY

/** What is not all of one extraction is made so, and what was kept for its time goes: by who rebuilds, who alone may remove an index. */
async function tendKept(): Promise<void> {
  const { number, value } = await indexState().change((state) => requestOutdatedRebuilds(state, extraction()))
  const at = clock().now()
  if (hasExpiredIndex(value, at - keptFor())) await workflow().start(`rebuild-${number}-${Math.floor(at / 60_000)}`, {})
}

/** Follows the heads of the table, and, on a schedule, looks after the indices. */
export async function followHeads(event: IndexEvent): Promise<PartialBatchResponse> {
  if ('sweep' in event) {
    await tendIndices()
    await tendKept()
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
  await heed(takenOf(Records, result).flatMap((record) => heartbeatOfRecord(record) ?? []))
  return result
}

/** Those before the first that failed, which come again with all behind it. */
function takenOf(records: readonly StreamRecord[], { batchItemFailures }: PartialBatchResponse): readonly StreamRecord[] {
  const failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier))
  const first = records.findIndex(({ dynamodb }) => failed.has(dynamodb?.SequenceNumber ?? ''))
  return first === -1 ? records : records.slice(0, first)
}

/** A pulse that the indices cannot be told of is one that comes late: the next one makes up for it. */
async function heed(beats: readonly ShardHeartbeat[]): Promise<void> {
  if (beats.length > 0) await followHeartbeat(pulse(), beats, clock().now()).catch((error: unknown) => report(error, 'pulse'))
}

/** The pulse is sent whether OpenSearch answers or not: it measures the stream and the index of the table. */
async function tendIndices(): Promise<void> {
  const [at, { stage }] = [clock().now(), deploymentSettings()]
  const sent = await sendHeartbeat(pulse(), at)
  const measuring = reportTableIndexLag(at)
  try {
    logHeartbeatAge(heartbeatAgeOf(sent, (await indexState().read()).value.live, at), { stage, at })
    logLostIndices(await documents().tend(sent.held), { stage, at })
  } finally {
    await measuring
  }
}

const readings = /* @__PURE__ */ once(() => new TenantSearchContexts(baseSearchContext(), 'documents'))

/** What the versions define counts for their own documents already. */
async function readingAfter(versions: readonly ResourceVersion[]): Promise<SearchContextOf> {
  const parameters = versions.filter(({ type }) => type === 'SearchParameter')
  const state = await indexState().change((before) =>
    parameters.reduce(applySearchParameter, versions.reduce(clearUnindexable, recordFollowedVersions(before, versions, extraction()))),
  )
  if (parameters.length > 0) await startRebuild(state)
  return (tenant) => readings().of(state.value, tenant)
}

/** From the commit of each version to its document, as far as they are indexed; the stream tells whole seconds. */
function tellLag(records: readonly StreamRecord[], { batchItemFailures }: PartialBatchResponse): void {
  const failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier))
  const now = clock().now()
  const versions = records.filter((record) => heartbeatOfRecord(record) === undefined)
  const lags = versions.flatMap(({ dynamodb: { SequenceNumber = '', ApproximateCreationDateTime: at } = {} }) =>
    at === undefined || failed.has(SequenceNumber) ? [] : [Math.max(0, now - at * 1000)],
  )
  logMetric('IndexLag', 'Milliseconds', lags, { stage: deploymentSettings().stage, at: now })
}

/** `transactions`: every minute, those whose coordinator is gone, and rebuilds. `bodies`: every day, those no version names. */
export type SweepEvent = { readonly sweep: 'transactions' | 'bodies' }

/** Follows the records of large transactions, and, on schedules, takes up what was left. */
export async function settleTransactions(event: StreamEvent | SweepEvent): Promise<PartialBatchResponse> {
  if ('sweep' in event) {
    await (event.sweep === 'bodies' ? sweepBodies() : sweepTransactions())
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

/** What this table does not name may be named by one that counted before. */
async function sweepBodies(): Promise<void> {
  const from = exclusiveInstantOf((await indexState().read()).value, deploymentSettings().epoch)
  await store().sweepBodies({ from, before: clock().now() - DAY })
}

/** Both in any case: a transaction nobody can settle keeps no rebuild from going on. */
async function sweepTransactions(): Promise<void> {
  const again = async () => startRebuild(await indexState().read(), `-${Math.floor(clock().now() / 60_000)}`)
  const results = await Promise.allSettled([store().sweep(), again()])
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

/** ms a step of the rebuild goes on: well below the time of its function. */
const STEP_BUDGET = 4 * 60_000

/** Copies that appear late are no harm here: whatever is written meanwhile is applied to both indices. */
export const rebuild = /* @__PURE__ */ once(() =>
  rebuildStep({
    state: indexState(),
    resources: openStore(0),
    former: (table) => openStore(0, table),
    epoch: deploymentSettings().epoch,
    newIdentity,
    // Who rebuilds takes up by itself what is wanted meanwhile.
    index: openDocuments(async () => {}),
    reading: baseSearchContext(),
    extraction: extraction(),
    keepFor: keptFor(),
    expressions: expressions(),
    now: () => clock().now(),
    wait: deploymentSettings().rebuildWait,
    budget: STEP_BUDGET,
    poisoned: poisoned(),
    define: announceDefinitions,
  }),
)
