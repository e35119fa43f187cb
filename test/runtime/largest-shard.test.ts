/** The indexer's run of every minute on an emulator, with OpenSearch that reports the sizes of its shards or refuses to. */
import { afterEach, beforeAll, expect, it, jest } from '@jest/globals'
import { followHeads } from '../../lambdas/runtime/aws/index-workers.ts'
import { startAnsweringEngine } from '../engines/opensearch-double.ts'
import { runAtEnd } from '../fixtures/at-end.ts'
import { runOnDynamo } from '../fixtures/dynamodb/on-dynamo.ts'
import { createStreamedTable } from '../fixtures/dynamodb/streamed-table.ts'

await runOnDynamo((engine) => {
  runAtEnd(() => engine.stop())
  let sizes: object
  beforeAll(async () => {
    const search = await startAnsweringEngine(({ path }) => (path.includes('/_stats/store') ? sizes : {}))
    runAtEnd(() => search.close())
    Object.assign(process.env, {
      ...(await createStreamedTable(engine)),
      ...{ FHIR_STATE_TABLE: await engine.newTable(), FHIR_STAGE: 'dev' },
      ...{ FHIR_SEARCH_ENDPOINT: search.endpoint, FHIR_SEARCH_SIGNING: 'none', AWS_ENDPOINT_URL_DYNAMODB: engine.endpoint },
      ...{ AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' },
    })
  })
  afterEach(() => void jest.restoreAllMocks())

  const sweep = async () => {
    const [log, error] = [jest.spyOn(console, 'log').mockReturnValue(), jest.spyOn(console, 'error').mockReturnValue()]
    expect(await followHeads({ sweep: 'index' })).toEqual({ batchItemFailures: [] })
    const lines = log.mock.calls.map(([line]) => JSON.parse(String(line)))
    return { lines, errors: error.mock.calls.map(([line]) => JSON.parse(String(line))) }
  }

  it('logs the largest shard under the watched metric name', async () => {
    sizes = { indices: { 'fhir-patient-v1-id': { shards: { 0: [{ store: { size_in_bytes: 36_000_000_000 } }] } } } }
    const { lines, errors } = await sweep()
    const [{ _aws, ...line }] = lines.filter((each) => 'LargestShard' in each)
    expect(line).toEqual({ Stage: 'dev', LargestShard: [36_000_000_000], names: ['fhir-patient-v1-id'] })
    expect(_aws.CloudWatchMetrics[0].Metrics).toEqual([{ Name: 'LargestShard', Unit: 'Bytes' }])
    expect(errors).toEqual([])
  })

  it('completes the run if OpenSearch refuses to report sizes', async () => {
    sizes = { status: 403, error: { type: 'security_exception' } }
    const { lines, errors } = await sweep()
    expect(lines.flatMap((line) => Object.keys(line)).filter((name) => /Shard|Pulse|Lost/.test(name))).toEqual(['PulseAge', 'IndexLost'])
    expect(errors).toEqual([expect.objectContaining({ requestId: 'largest shard' })])
  })

  it('logs no size if there is no index', async () => {
    sizes = {}
    const { lines, errors } = await sweep()
    expect(lines.some((line) => 'LargestShard' in line)).toBe(false)
    expect(errors).toEqual([])
  })
})
