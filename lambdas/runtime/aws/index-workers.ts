/** The cloud home's functions behind the stream, the schedule and the rebuild. */
import { DynamoDbKeptState } from '../../adapters/dynamodb/rows/shared-state.ts'
import { beatItem, streamBeat } from '../../adapters/dynamodb/stream/heartbeat.ts'
import { isOfTable, type StreamRecord, streamTransaction, streamVersion } from '../../adapters/dynamodb/stream/stream.ts'
import { StepFunctionsWorkflow } from '../../adapters/step-functions/workflow.ts'
import { extractionOf } from '../../indexing/document-format.ts'
import { ageOf, followPulse, NO_PULSE, type PulseParts, sendPulse } from '../../indexing/heartbeat.ts'
import { followed, isSomeOver, mended, missed } from '../../indexing/index-retention.ts'
import { afterSearchParameter, afterTry, type IndexState, isWorkerGone, isWorkLeft, requestRebuild } from '../../indexing/index-state.ts'
import { rebuildStep } from '../../indexing/rebuild-steps.ts'
import { ownSince } from '../../indexing/restore.ts'
import { begun, type Identified, identified, lost } from '../../indexing/serving-indices.ts'
import { type FollowResult, followStream } from '../../indexing/stream-follower.ts'
import { Readings } from '../../indexing/tenant-search-contexts.ts'
import { PoisonList } from '../../indexing/unindexable-versions.ts'
import type { Kept } from '../../ports/rows/shared-state.ts'
import type { Beat } from '../../ports/search/heartbeat.ts'
import type { Reindex } from '../../ports/search/index-status.ts'
import type { LiveIndices } from '../../ports/search/serving-indices.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import type { ReadingOf } from '../../search/search-context.ts'
import { once } from '../once.ts'
import { metric, report, tellOfLacking, tellPulseAge } from './log.ts'
import {
  blobs,
  clock,
  define,
  expressions,
  indexState,
  openStore,
  places,
  plainReading,
  resourceTable,
  stateTable,
  store,
} from './ports.ts'
import { openIndex } from './search-index.ts'
import { measureLag } from './table-index-lag.ts'

const workflow = /* @__PURE__ */ once(() => new StepFunctionsWorkflow(places().rebuildWorkflow))

/** Unless somebody is at it, who will take it all. `number` makes a name for each wish, so that one that is repeated starts nothing twice. */
export async function startRebuild({ number, value }: Kept<IndexState>, again = ''): Promise<void> {
  if (isWorkLeft(value) && isWorkerGone(value, clock().now())) await workflow().start(`rebuild-${number}${again}`, {})
}

export const reindex = (): Reindex => ({
  start: async (tenant, types) => startRebuild(await indexState().change((state) => requestRebuild(state, tenant, types))),
})

type StreamEvent = { readonly Records: readonly StreamRecord[] }

const poisoned = /* @__PURE__ */ once(() => new PoisonList(indexState()))
/** `onLost`: gets what is wanted when an index was found missing. */
const openDocuments = (onLost: (state: Kept<IndexState>) => Promise<void>) =>
  openIndex({
    onPoison: poisoned().addDocument,
    live: async () => (await indexState().read()).value.live ?? changedIndices((state) => state),
    register: {
      begun: (types, identity) => changedIndices((state) => begun(state, types, identity)),
      async lost(missing) {
        const fresh = newIdentity()
        await onLost(await indexState().change((state) => lost(identified(state, fresh), missing, fresh)))
      },
    },
  })

const documents = /* @__PURE__ */ once(() => openDocuments(startRebuild))

async function changedIndices(change: (state: Identified) => Identified): Promise<LiveIndices> {
  const fresh = newIdentity()
  const { value } = await indexState().change((state) => change(identified(state, fresh)))
  return identified(value, fresh).live
}

export const newIdentity = (): string => clock().newId().slice(-12)

const recordsOf = ({ Records }: StreamEvent): readonly StreamRecord[] => Records.filter((record) => isOfTable(record, places().table))

/** The pulse of the stream: how far it has come. */
const pulse = /* @__PURE__ */ once(
  (): PulseParts => ({
    state: new DynamoDbKeptState(stateTable(), 'PULSE', NO_PULSE),
    send: (beats) => resourceTable().putAll(beats.map(beatItem)),
    tell: (sent, held) => documents().pulse(sent, held),
    missed: async (since) => {
      await indexState().change((state) => mended(missed(state, since), extraction()))
    },
  }),
)

/** `index`: every minute, a pulse, and whether all indices are there, and as they were. */
export type IndexEvent = StreamEvent | { readonly sweep: 'index' }

export const extraction = /* @__PURE__ */ once(() => extractionOf(plainReading()))

/** ms. */
const keptFor = (): number => places().keptIndexDays * DAY

/** What is not all of one extraction is made so, and what was kept for its time goes: by who rebuilds, who alone may remove an index. */
async function tendKept(): Promise<void> {
  const { number, value } = await indexState().change((state) => mended(state, extraction()))
  const at = clock().now()
  if (isSomeOver(value, at - keptFor())) await workflow().start(`rebuild-${number}-${Math.floor(at / 60_000)}`, {})
}

/** Follows the heads of the table, and, on a schedule, looks after the indices. */
export async function followHeads(event: IndexEvent): Promise<FollowResult> {
  if ('sweep' in event) {
    await tendIndices()
    await tendKept()
    return { batchItemFailures: [] }
  }
  const Records = recordsOf(event)
  const follow = followStream<StreamRecord>({
    index: documents(),
    versionOf: (record) => streamVersion(record, blobs()),
    readingAfter,
    expressions: expressions(),
    onPoison: poisoned().addVersion,
    report,
  })
  const result = await follow({ Records })
  await poisoned().save()
  tellLag(Records, result)
  await heed(takenOf(Records, result).flatMap((record) => streamBeat(record) ?? []))
  return result
}

/** Those before the first that failed, which come again with all behind it. */
function takenOf(records: readonly StreamRecord[], { batchItemFailures }: FollowResult): readonly StreamRecord[] {
  const failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier))
  const first = records.findIndex(({ dynamodb }) => failed.has(dynamodb?.SequenceNumber ?? ''))
  return first === -1 ? records : records.slice(0, first)
}

/** A pulse that the indices cannot be told of is one that comes late: the next one makes up for it. */
async function heed(beats: readonly Beat[]): Promise<void> {
  if (beats.length > 0) await followPulse(pulse(), beats, clock().now()).catch((error: unknown) => report(error, 'pulse'))
}

/** The pulse is sent whether OpenSearch answers or not: it measures the stream and the index of the table. */
async function tendIndices(): Promise<void> {
  const [at, { stage }] = [clock().now(), places()]
  const sent = await sendPulse(pulse(), at)
  const measuring = measureLag(at)
  try {
    tellPulseAge(ageOf(sent, (await indexState().read()).value.live, at), { stage, at })
    tellOfLacking(await documents().tend(sent.held), { stage, at })
  } finally {
    await measuring
  }
}

const readings = /* @__PURE__ */ once(() => new Readings(plainReading(), 'documents'))

/** What the versions define counts for their own documents already. */
async function readingAfter(versions: readonly ResourceVersion[]): Promise<ReadingOf> {
  const parameters = versions.filter(({ type }) => type === 'SearchParameter')
  const state = await indexState().change((before) =>
    parameters.reduce(afterSearchParameter, versions.reduce(afterTry, followed(before, versions, extraction()))),
  )
  if (parameters.length > 0) await startRebuild(state)
  return (tenant) => readings().of(state.value, tenant)
}

/** From the commit of each version to its document, as far as they are indexed; the stream tells whole seconds. */
function tellLag(records: readonly StreamRecord[], { batchItemFailures }: FollowResult): void {
  const failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier))
  const now = clock().now()
  const versions = records.filter((record) => streamBeat(record) === undefined)
  const lags = versions.flatMap(({ dynamodb: { SequenceNumber = '', ApproximateCreationDateTime: at } = {} }) =>
    at === undefined || failed.has(SequenceNumber) ? [] : [Math.max(0, now - at * 1000)],
  )
  metric('IndexLag', 'Milliseconds', lags, { stage: places().stage, at: now })
}

/** `transactions`: every minute, those whose coordinator is gone, and rebuilds. `bodies`: every day, those no version names. */
export type SweepEvent = { readonly sweep: 'transactions' | 'bodies' }

/** Follows the records of large transactions, and, on schedules, takes up what was left. */
export async function settle(event: StreamEvent | SweepEvent): Promise<FollowResult> {
  if ('sweep' in event) {
    await (event.sweep === 'bodies' ? sweepBodies() : sweepTransactions())
    return { batchItemFailures: [] }
  }
  const failed: string[] = []
  for (const record of recordsOf(event)) {
    const sequence = record.dynamodb?.SequenceNumber ?? ''
    const transaction = streamTransaction(record)
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
  const from = ownSince((await indexState().read()).value, places().epoch)
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
    epoch: places().epoch,
    newIdentity,
    // Who rebuilds takes up by itself what is wanted meanwhile.
    index: openDocuments(async () => {}),
    reading: plainReading(),
    extraction: extraction(),
    keepFor: keptFor(),
    expressions: expressions(),
    now: () => clock().now(),
    wait: places().rebuildWait,
    budget: STEP_BUDGET,
    poisoned: poisoned(),
    define,
  }),
)
