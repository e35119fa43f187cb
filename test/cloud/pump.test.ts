/** The pump behaves like Lambda with records that a function does not accept. */
import { describe, expect, it } from '@jest/globals'
import type { InvocationResult } from './function-host.ts'
import { type DiscardedBatch, mappingOf, matchesFilters, pump, type StreamMapping, type StreamRecord } from './pump.ts'

const MAPPING: StreamMapping = {
  batchSize: 4,
  window: 0,
  bisects: true,
  retries: -1,
  maxAge: -1,
  reportsFailures: true,
  filters: [],
  hasDestination: true,
}

const record = (n: number, at = 1_000): StreamRecord => ({ dynamodb: { SequenceNumber: String(n), ApproximateCreationDateTime: at } })
const records = (count: number): readonly StreamRecord[] => Array.from({ length: count }, (_, i) => record(i + 1))
const failing = (...names: readonly string[]): InvocationResult => ({
  result: JSON.stringify({ batchItemFailures: names.map((itemIdentifier) => ({ itemIdentifier })) }),
})
const THROWN: InvocationResult = { kind: 'error', message: 'x' }

/** Returns the calls of the function and the discarded batches. `answers`: the result of each call. */
async function run(
  given: readonly StreamRecord[],
  mapping: Partial<StreamMapping>,
  answers: readonly InvocationResult[],
  now?: () => number,
) {
  const calls: string[] = []
  const discarded: DiscardedBatch[] = []
  let read = false
  const { drain, figures } = pump({
    mapping: { ...MAPPING, ...mapping },
    read: async () => {
      const once = read ? [] : given
      read = true
      return once
    },
    invoke: async ({ Records }) => {
      calls.push(Records.map(({ dynamodb }) => dynamodb.SequenceNumber).join(' '))
      return answers[calls.length - 1] ?? failing()
    },
    onDiscarded: (each) => discarded.push(each),
    backoff: 0,
    ...(now === undefined ? {} : { now }),
  })
  await drain()
  return { calls, figures, discarded: discarded.map(({ reason, records }) => `${reason} ${records.length}`) }
}

describe('The pump', () => {
  it('delivers in batches', async () => expect((await run(records(6), {}, [])).calls).toEqual(['1 2 3 4', '5 6']))

  it('sends no batch larger than an event may be', async () => {
    const large = records(4).map((each) => ({ ...each, text: 'x'.repeat(2_500_000) }))
    expect((await run(large, {}, [])).calls).toEqual(['1 2', '3 4'])
  })

  it('continues with the lowest failed record', async () =>
    expect((await run(records(4), {}, [failing('3', '2')])).calls).toEqual(['1 2 3 4', '2 3 4']))

  it('repeats the whole batch if a reported record is unknown', async () =>
    expect((await run(records(2), {}, [failing('nonsense')])).calls).toEqual(['1 2', '1 2']))

  it('ignores reported failures if the mapping does not enable them', async () =>
    expect((await run(records(2), { reportsFailures: false }, [failing('1')])).calls).toEqual(['1 2']))

  it('halves a batch after an error', async () =>
    expect((await run(records(4), {}, [THROWN, THROWN])).calls).toEqual(['1 2 3 4', '1 2', '1', '2', '3 4']))

  it('repeats the whole batch if bisecting is off', async () =>
    expect((await run(records(2), { bisects: false }, [THROWN])).calls).toEqual(['1 2', '1 2']))

  it('discards a batch without retries left, and continues', async () => {
    const { calls, discarded } = await run(records(5), { retries: 1, bisects: false }, [THROWN, THROWN])
    expect(calls).toEqual(['1 2 3 4', '1 2 3 4', '5'])
    expect(discarded).toEqual(['retries 4'])
  })

  it('discards records that are too old', async () => {
    let time = 1_000_000
    const { calls, discarded } = await run([record(1), record(2)], { maxAge: 60_000 }, Array(9).fill(failing('1')), () => {
      time += 20_000
      return time
    })
    expect(calls).toHaveLength(3)
    expect(discarded).toEqual(['age 2'])
  })
})

describe('Filters', () => {
  const heads = [{ dynamodb: { Keys: { sk: { S: ['H'] } } } }]
  it('pass a record that matches one of them', () => {
    expect(matchesFilters({ dynamodb: { Keys: { sk: { S: 'H' } } } }, heads)).toBe(true)
    expect(matchesFilters({ dynamodb: { Keys: { sk: { S: 'V#1' } } } }, heads)).toBe(false)
    expect(matchesFilters({ eventName: 'REMOVE' }, [{ eventName: [{ prefix: 'REM' }] }])).toBe(true)
    expect(matchesFilters({}, [{ a: [{ exists: false }] }])).toBe(true)
    expect(matchesFilters({}, [])).toBe(true)
  })
})

it('reads the settings of a template', () =>
  expect(
    mappingOf({
      Properties: {
        BatchSize: 500,
        MaximumBatchingWindowInSeconds: 1,
        BisectBatchOnFunctionError: true,
        MaximumRetryAttempts: -1,
        MaximumRecordAgeInSeconds: 72_000,
        FunctionResponseTypes: ['ReportBatchItemFailures'],
        FilterCriteria: { Filters: [{ Pattern: '{"a":["b"]}' }] },
        DestinationConfig: { OnFailure: { Destination: { Ref: 'Bucket' } } },
      },
    }),
  ).toEqual({ ...MAPPING, batchSize: 500, window: 1_000, maxAge: 72_000_000, filters: [{ a: ['b'] }] }))
