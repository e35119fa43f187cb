/**
 * What Lambda does between a table's stream and a function, with the settings of the synthesized event source mapping; emulators leave most of
 * it out. https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { AwsCalls, Tree } from './aws-calls.ts'
import { type InvocationResult, MAX_PAYLOAD_BYTES } from './function-host.ts'

export type StreamRecord = {
  readonly dynamodb: { readonly SequenceNumber: string; readonly ApproximateCreationDateTime: number } & Tree
} & Tree

export type StreamMapping = {
  readonly batchSize: number
  /** Milliseconds, as maxAge. */
  readonly window: number
  readonly bisects: boolean
  /** -1: for ever, as of maxAge. */
  readonly retries: number
  readonly maxAge: number
  readonly reportsFailures: boolean
  /** A record passes that fits one of them; without any, all do. */
  readonly filters: readonly Tree[]
  readonly hasDestination: boolean
}

export type DiscardedBatch = { readonly records: readonly StreamRecord[]; readonly reason: 'retries' | 'age' }

export type PumpOptions = {
  readonly mapping: StreamMapping
  /** What came since the last call; empty when there is nothing new. */
  readonly read: () => Promise<readonly StreamRecord[]>
  readonly invoke: (event: { readonly Records: readonly StreamRecord[] }) => Promise<InvocationResult>
  /** What goes to the on-failure destination. */
  readonly onDiscarded: (discarded: DiscardedBatch) => void
  /** At-least-once, as it is: may repeat or reorder what is delivered. */
  readonly disturb?: (batch: readonly StreamRecord[]) => readonly StreamRecord[]
  readonly now?: () => number
  /** Milliseconds after the first failure; doubled after each further one. */
  readonly backoff?: number
  /** Whether to leave what is not delivered. */
  readonly isStopped?: () => boolean
}

export type Pump = {
  /** Until `read` has nothing more and everything is delivered or discarded. */
  readonly drain: () => Promise<void>
  /** `errors`: calls that failed whole. `polled`, `failedEvents`: what Lambda writes as PolledEventCount and FailedInvokeEventCount. */
  readonly figures: {
    batches: number
    failures: number
    largest: number
    errors: number
    readonly polled: number[]
    readonly failedEvents: number[]
  }
}

const LONGEST_BACKOFF = 1_000
const LARGEST_BATCH = MAX_PAYLOAD_BYTES - 1_000

export const mappingOf = ({ Properties }: Tree): StreamMapping => ({
  batchSize: Properties.BatchSize ?? 100,
  window: (Properties.MaximumBatchingWindowInSeconds ?? 0) * 1_000,
  bisects: Properties.BisectBatchOnFunctionError ?? false,
  retries: Properties.MaximumRetryAttempts ?? -1,
  maxAge: Math.max(-1, (Properties.MaximumRecordAgeInSeconds ?? -1) * 1_000),
  reportsFailures: Properties.FunctionResponseTypes?.includes('ReportBatchItemFailures') ?? false,
  filters: (Properties.FilterCriteria?.Filters ?? []).map(({ Pattern }: Tree) => JSON.parse(Pattern)),
  hasDestination: Properties.DestinationConfig?.OnFailure?.Destination !== undefined,
})

export function pump(options: PumpOptions): Pump {
  const { mapping, read, disturb = (batch) => batch } = options
  const figures: Pump['figures'] = { batches: 0, failures: 0, largest: 0, errors: 0, polled: [], failedEvents: [] }
  const polling = async (): Promise<readonly StreamRecord[]> => {
    const records = await read()
    figures.polled.push(records.length)
    return records
  }
  return {
    figures,
    async drain() {
      for (let records = await polling(); records.length > 0; records = await polling()) {
        const passing = records.filter((record) => matchesFilters(record, mapping.filters))
        for (const batch of batches(passing, mapping.batchSize)) await deliver(options, disturb(batch), figures)
      }
    },
  }
}

/** A batch is full when it has so many records, or as many bytes as an event may have. */
function* batches(records: readonly StreamRecord[], limit: number): Iterable<readonly StreamRecord[]> {
  let [batch, bytes]: [StreamRecord[], number] = [[], 0]
  for (const record of records) {
    const size = Buffer.byteLength(JSON.stringify(record)) + 1
    if (batch.length === limit || (batch.length > 0 && bytes + size > LARGEST_BATCH)) {
      yield batch
      ;[batch, bytes] = [[], 0]
    }
    batch.push(record)
    bytes += size
  }
  if (batch.length > 0) yield batch
}

async function deliver(options: PumpOptions, batch: readonly StreamRecord[], figures: Pump['figures']): Promise<void> {
  const { mapping, invoke, onDiscarded, now = Date.now, backoff = 50, isStopped = () => false } = options
  const waiting: (readonly StreamRecord[])[] = [batch]
  let failures = 0
  while (waiting.length > 0 && !isStopped()) {
    const records = waiting[0]!
    if (mapping.maxAge >= 0 && records.length > 0 && now() - createdAt(records[0]!) > mapping.maxAge) {
      onDiscarded({ records, reason: 'age' })
      waiting.shift()
      continue
    }
    figures.batches++
    figures.largest = Math.max(figures.largest, records.length)
    const invoked = await invoke({ Records: records })
    if (!('result' in invoked)) figures.errors++
    const rest = undelivered(mapping, records, invoked)
    if (rest.length === 0) {
      waiting.shift()
      failures = 0
      continue
    }
    figures.failures++
    figures.failedEvents.push(records.length)
    const isWhole = rest.length === 1 && rest[0]!.length === records.length
    failures = isWhole ? failures + 1 : 0
    if (mapping.retries >= 0 && failures > mapping.retries) {
      onDiscarded({ records, reason: 'retries' })
      waiting.shift()
      failures = 0
      continue
    }
    waiting.splice(0, 1, ...rest)
    await sleep(Math.min(backoff * 2 ** failures, LONGEST_BACKOFF))
  }
}

/** What must come again, in batches: nothing, the rest after the lowest failure, or after an error all of it, in halves where that is set. */
function undelivered(
  mapping: StreamMapping,
  records: readonly StreamRecord[],
  invoked: InvocationResult,
): readonly (readonly StreamRecord[])[] {
  if (!('result' in invoked)) return mapping.bisects && records.length > 1 ? halves(records) : [records]
  if (!mapping.reportsFailures) return []
  const failures: readonly { readonly itemIdentifier?: string }[] = (JSON.parse(invoked.result) as Tree)?.batchItemFailures ?? []
  if (failures.length === 0) return []
  const indices = failures.map(({ itemIdentifier }) => records.findIndex(({ dynamodb }) => dynamodb.SequenceNumber === itemIdentifier))
  // A name that is none of the batch counts as a failure of all.
  return [records.slice(Math.max(0, Math.min(...indices)))]
}

const halves = (records: readonly StreamRecord[]): readonly (readonly StreamRecord[])[] => {
  const middle = Math.ceil(records.length / 2)
  return [records.slice(0, middle), records.slice(middle)]
}

const createdAt = ({ dynamodb }: StreamRecord): number => dynamodb.ApproximateCreationDateTime * 1_000

export const matchesFilters = (record: Tree, filters: readonly Tree[]): boolean =>
  filters.length === 0 || filters.some((filter) => fitsOne(record, filter))

/** https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html */
function fitsOne(value: Tree, pattern: Tree): boolean {
  if (!Array.isArray(pattern)) return Object.entries<Tree>(pattern).every(([name, each]) => fitsOne(value?.[name], each))
  return pattern.some((rule) => {
    if (rule === null || typeof rule !== 'object') return value === rule
    if ('prefix' in rule) return typeof value === 'string' && value.startsWith(rule.prefix)
    if ('exists' in rule) return (value !== undefined) === rule.exists
    throw new Error(`a filter rule that is not known here: ${JSON.stringify(rule)}`)
  })
}

const API = 'DynamoDBStreams_20120810'

/** The records of a stream from its beginning, as far as there are any. */
export function streamReader(aws: AwsCalls, StreamArn: string): () => Promise<readonly StreamRecord[]> {
  let iterators: (string | undefined)[] | undefined
  const begin = async (): Promise<string[]> => {
    const { StreamDescription } = await aws.json('dynamodb', `${API}.DescribeStream`, { StreamArn })
    return Promise.all(
      StreamDescription.Shards.map(async ({ ShardId }: Tree) => {
        const input = { StreamArn, ShardId, ShardIteratorType: 'TRIM_HORIZON' }
        return (await aws.json('dynamodb', `${API}.GetShardIterator`, input)).ShardIterator
      }),
    )
  }
  return async () => {
    iterators ??= await begin()
    const records: StreamRecord[] = []
    for (const [i, ShardIterator] of iterators.entries()) {
      if (ShardIterator === undefined) continue
      const answer = await aws.json('dynamodb', `${API}.GetRecords`, { ShardIterator, Limit: 1_000 })
      iterators[i] = answer.NextShardIterator
      records.push(...answer.Records)
    }
    return records
  }
}
