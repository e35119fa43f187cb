/** Alarms watch the metrics that the code writes, with thresholds in the same unit. */
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { logMetric, METRIC_NAMES } from '../../lambdas/runtime/aws/log.ts'
import { watchesOf } from '../../lib/monitoring/watches.ts'

const DEPLOYED = {
  stage: 'prod',
  api: { name: 'fhir-prod', stage: 'fhir', rate: 500 },
  table: 'resources',
  stateTable: 'state',
  index: 'gsi1',
  followers: { indexer: 'fhir-indexer' },
  mappings: { indexer: '7d9f', 'settle-transactions': '7e01' },
  rebuild: 'arn:aws:states:rebuild',
  exports: { machine: 'arn:aws:states:export', sweeper: 'fhir-export-sweep', starter: 'fhir-export-schedule' },
  domain: { name: 'fhir', account: '111111111111', disk: 200, nodes: 3, masters: 3 },
  tokens: { tender: 'fhir-tend-keys', hasPartners: true },
}
const watches = watchesOf(DEPLOYED)
const SECOND = 1_000
const alarms = watches.flatMap(({ alarm, ...watch }) => (alarm === undefined ? [] : [{ ...watch, ...alarm }]))
const alarmOf = (name: string) => alarms.find((alarm) => alarm.name === name)!

afterEach(() => {
  jest.restoreAllMocks()
})

/** The metric as it is printed for CloudWatch. */
function printed(value: number) {
  const log = jest.spyOn(console, 'log').mockReturnValue()
  logMetric('IndexLag', 'Milliseconds', [value], { stage: 'prod', at: 0 })
  const { _aws, ...values } = JSON.parse(String(log.mock.calls[0]![0]))
  const [{ Namespace, Dimensions, Metrics }] = _aws.CloudWatchMetrics
  return { Namespace, dimensions: Object.fromEntries(Dimensions[0].map((name: string) => [name, values[name]])), Metrics, values }
}

describe('The lag of the index', () => {
  it('is watched under its metric name', () => {
    const { Namespace, dimensions, Metrics, values } = printed(7)
    expect(alarmOf('IndexLag').metrics).toEqual([
      { namespace: Namespace, metricName: Metrics[0].Name, dimensions, statistic: expect.stringMatching(/^p\d+$/) },
    ])
    expect(Metrics).toEqual([{ Name: 'IndexLag', Unit: 'Milliseconds' }])
    expect(values).toEqual({ Stage: 'prod', IndexLag: [7] })
  })
})

describe('Alarms', () => {
  it('watch every metric of the code and of the access log, at most ten', () => {
    const own = alarms.flatMap(({ metrics }) => metrics).filter(({ namespace }) => namespace === 'FHIR')
    const names = new Set(own.map(({ metricName }) => metricName))
    expect([...names].sort()).toEqual([...METRIC_NAMES].sort())
    // More would cost $0.30 a month each.
    expect(names.size).toBeLessThanOrEqual(10)
    // A metric with other dimensions is another metric.
    for (const { dimensions } of own) expect(dimensions).toEqual({ Stage: DEPLOYED.stage })
  })

  it('have thresholds of durations in milliseconds that equal their descriptions', () => {
    const durations = {
      Latency: [3 * SECOND, /more than 3 s$/],
      IndexLag: [60 * SECOND, /more than a minute$/],
      IteratorAge: [600 * SECOND, /ten minutes behind$/],
      TableIndexLag: [2 * SECOND, /more than 2 s, /],
      Pulse: [300 * SECOND, /more than five minutes, /],
      ExportAge: [12 * 3_600 * SECOND, /for twelve hours$/],
    } as const
    for (const [name, [above, means]] of Object.entries(durations)) {
      expect(alarmOf(name)).toMatchObject({ above, means: expect.stringMatching(means), title: expect.stringMatching(/, ms$/) })
    }
    expect(
      alarms
        .filter(({ title }) => title.endsWith(', ms'))
        .map(({ name }) => name)
        .sort(),
    ).toEqual(Object.keys(durations).sort())
  })

  it('have a threshold of zero for other metrics, except for shares and missing values', () => {
    const others = alarms.filter(({ title }) => !title.endsWith(', ms'))
    expect(others.length).toBeGreaterThan(5)
    const shares: Readonly<Record<string, object>> = {
      ServerErrors: { above: 0.01 },
      Refused: { above: 0.3, means: expect.stringContaining('more than 30 %') },
      // 70 % of 500 requests per second for 300 seconds.
      RequestRate: { above: 105_000, means: expect.stringContaining('70 % of 500 requests per second for five minutes') },
      Concurrency: { above: 0.7, means: expect.stringContaining('70 %') },
      SearchMemory: { above: 85 },
      // A quarter of 200 GB, in MB.
      SearchDisk: { below: 50 * 1_024 },
      SearchNodes: { below: 6 },
      LargestShard: { above: 30 * 1_024 ** 3, means: expect.stringContaining('30 GB'), todo: expect.stringContaining('search.shards') },
      // 2 is written for a partner that guesses, 0 or 1 for a request.
      MemberGuessing: { above: 1 },
      NotFollowed: { below: 1, isSilenceWrong: true },
    }
    for (const alarm of others) expect(alarm).toMatchObject(shares[alarm.name] ?? { above: 0 })
    expect(alarms.filter(({ isSilenceWrong }) => isSilenceWrong).map(({ name }) => name)).toEqual(['NotFollowed', 'Pulse', 'TableIndexLag'])
  })

  it.each([
    ['one node, which has no copies of shards', { ...DEPLOYED.domain, nodes: 1 }, ['SearchYellow', 'SearchNodes', 'SearchSnapshot']],
    ['a disk that is smaller than a large shard', { ...DEPLOYED.domain, disk: 20 }, ['LargestShard']],
  ])('omit failures that are impossible with %s', (_, domain, missing) => {
    const namesOf = (each: typeof watches) => each.flatMap(({ alarm }) => (alarm === undefined ? [] : [alarm.name]))
    expect(namesOf(watches).filter((name) => !namesOf(watchesOf({ ...DEPLOYED, domain })).includes(name))).toEqual(missing)
  })

  it('watch the shards of a cluster outside the stage', () => {
    const { domain: _, ...others } = DEPLOYED
    expect(watchesOf(others).map(({ alarm }) => alarm?.name)).toContain('LargestShard')
  })

  it('watch metrics by dimensions that AWS services write', () => {
    const WRITTEN: Readonly<Record<string, readonly string[]>> = {
      'AWS/ApiGateway': ['ApiName,Stage', 'ApiName,Resource,Method,Stage'],
      'AWS/Lambda': ['FunctionName', 'EventSourceMappingUUID', ''],
      'AWS/DynamoDB': ['TableName', 'TableName,GlobalSecondaryIndexName'],
      'AWS/States': ['StateMachineArn'],
      'AWS/ES': ['DomainName,ClientId'],
      FHIR: ['Stage'],
    }
    expect(watches.length).toBeGreaterThan(10)
    for (const { title, metrics } of watches) {
      expect([title, metrics.length]).not.toEqual([title, 0])
      for (const { namespace, dimensions = {} } of metrics)
        expect([title, WRITTEN[namespace]]).toEqual([title, expect.arrayContaining([Object.keys(dimensions).join()])])
    }
  })
})
