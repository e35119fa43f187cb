/**
 * Each alarm is evaluated with the values that its metric has during the fault it is about, and with those of normal operation, also with
 * none at all. The metric names are those that AWS, the pump of the tests or our own code write.
 */
import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { DynamoDbAuditLog } from '../../lambdas/adapters/dynamodb/rows/audit-log.ts'
import { heartbeatItem, heartbeatOfRecord } from '../../lambdas/adapters/dynamodb/stream/heartbeat.ts'
import type { TableClient } from '../../lambdas/adapters/dynamodb/table-client.ts'
import { ROUTES } from '../../lambdas/catalogue/catalogue.ts'
import { followHeartbeat, heartbeatAgeOf, sendHeartbeat } from '../../lambdas/indexing/stream/heartbeat.ts'
import type { ShardHeartbeat } from '../../lambdas/ports/search/heartbeat.ts'
import type { AuditDurability, AuditRecord } from '../../lambdas/ports/security/audit-log.ts'
import { GUESSING, logGuessing, logHeartbeatAge, logLostIndices, logUnwrittenAudit } from '../../lambdas/runtime/aws/log.ts'
import { SEVERITIES } from '../../lib/monitoring/watch.ts'
import type { InvocationResult } from '../cloud/function-host.ts'
import { mappingOf, pump, type StreamRecord } from '../cloud/pump.ts'
import { heartbeatParts } from '../fixtures/heartbeats.ts'
import { alarmStateOf, type MetricPeriod, metricOf, QUOTA } from './alarms.ts'
import { outputOf, resourcesOfType, synthesizeStages, type Tree } from './assembly.ts'

const { tokens } = await synthesizeStages({
  tokens: {
    access: 'token',
    search: { kind: 'domain', size: 'production' },
    exports: [{ name: 'nightly', schedule: 'rate(1 day)', client: 'etl', level: 'system' }],
    alarmEmail: 'ops@example.org',
    auditArchiveYears: 6,
  },
})
/** Alarms by name, one for each metric. */
const alarms = Map.groupBy(Object.values(resourcesOfType(tokens.operation, 'AWS::CloudWatch::Alarm')), ({ AlarmDescription }) => {
  const text: string = typeof AlarmDescription === 'string' ? AlarmDescription : JSON.stringify(AlarmDescription)
  return /^\W*(\w+) \(/.exec(text)![1]!
})

afterEach(() => {
  jest.restoreAllMocks()
})

const LAMBDA = 'AWS/Lambda'
const STATES = ['AWS/States', 'StateMachineArn'] as const
const DOMAIN = ['AWS/ES', 'ClientId,DomainName'] as const
const TABLE = ['AWS/DynamoDB', 'TableName'] as const
const INDEX = ['AWS/DynamoDB', 'GlobalSecondaryIndexName,TableName'] as const
const MAPPING = [LAMBDA, 'EventSourceMappingUUID'] as const
const FUNCTION = [LAMBDA, 'FunctionName'] as const
const OWN = ['FHIR', 'Stage'] as const

type Row = {
  /** Namespace and dimensions that the service writes. */
  readonly source: readonly [namespace: string, dimensions: string]
  readonly alarming: readonly MetricPeriod[]
  readonly normal: readonly MetricPeriod[]
  /** State of the alarm if no values are written. */
  readonly silent?: 'ALARM'
}

const [EVERY, NOW_AND_THEN]: readonly (readonly MetricPeriod[])[] = [
  [
    [0, 1],
    [1, 0],
    [0, 1],
  ],
  [[1], [0], [1]],
]
/** Durations of a hundred calls: `calls` of them take `ms` milliseconds, the others one. */
const slow = (calls: number, ms: number): MetricPeriod => Array.from({ length: 100 }, (_, i) => (i < calls ? ms : 1))
/** Values that the filters write for requests, `some` of them refused. */
const refused = (some: number, requests: number): MetricPeriod => Array.from({ length: requests }, (_, i) => Number(i < some))
const counted = (requests: number): MetricPeriod => [requests - 1, 1]
const once = (alarming: MetricPeriod, normal: MetricPeriod): Pick<Row, 'alarming' | 'normal'> => ({
  alarming: [normal, normal, alarming],
  normal: [normal, normal, normal],
})

/** By alarm and metric. Names of AWS: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/aws-services-cloudwatch-metrics.html */
const ROWS: Readonly<Record<string, Row>> = {
  'ServerErrors 5XXError': { source: ['AWS/ApiGateway', 'ApiName,Stage'], alarming: [[0, 1], [1, 0], [1]], normal: [[1], [1], Array.from({ length: 200 }, (_, i) => Number(i === 0))] },
  'Refused Refused': { source: OWN, alarming: [refused(40, 100), refused(7, 20), refused(31, 100)], normal: [refused(19, 19), refused(30, 100), refused(1, 1)] },
  'Latency Latency': { source: ['AWS/ApiGateway', 'ApiName,Stage'], alarming: [[9_000], [9_000], slow(2, 9_000)], normal: [[9_000], slow(1, 9_000), [9_000]] },
  'IndexLag IndexLag': { source: OWN, alarming: [[90_000], [90_000], slow(6, 90_000)], normal: [[90_000], slow(5, 90_000), [90_000]] },
  'IteratorAge IteratorAge': { source: FUNCTION, alarming: [[0], [0, 700_000], [900_000, 0]], normal: [[700_000], [700_000], [0]] },
  'FollowerErrors Errors': { source: FUNCTION, alarming: EVERY!, normal: NOW_AND_THEN! },
  'FollowerErrors FailedInvokeEventCount': { source: MAPPING, alarming: EVERY!, normal: NOW_AND_THEN! },
  'NotFollowed PolledEventCount': { source: MAPPING, alarming: [[], [], []], normal: [[0, 0, 0], [], [0]], silent: 'ALARM' },
  'Pulse PulseAge': { source: OWN, alarming: [[60_000], [60_000, 310_000], [370_000, 430_000]], normal: [[], [310_000], [60_000, 61_000]], silent: 'ALARM' },
  'TableIndexLag TableIndexLag': { source: OWN, alarming: [[40], [40, 2_100], [61_000]], normal: [[], [2_100], [40, 2_000]], silent: 'ALARM' },
  'PutAside OnFailureDestinationDeliveredEventCount': { source: MAPPING, ...once([0, 1], [0]) },
  'Dropped DroppedEventCount': { source: MAPPING, ...once([0, 1], [0]) },
  'RequestRate Count': { source: ['AWS/ApiGateway', 'ApiName,Stage'], ...once(counted(105_001), counted(105_000)) },
  'Concurrency ConcurrentExecutions': { source: [LAMBDA, ''], alarming: [[100, 0.71 * QUOTA], [QUOTA], [0.8 * QUOTA]], normal: [[QUOTA], [0.7 * QUOTA], [QUOTA]] },
  'FunctionThrottles Throttles': { source: [LAMBDA, ''], alarming: EVERY!, normal: NOW_AND_THEN! },
  'TableThrottles ReadThrottleEvents': { source: TABLE, alarming: EVERY!, normal: [[5], [], [5]] },
  'TableThrottles WriteThrottleEvents': { source: TABLE, alarming: EVERY!, normal: [[5], [], [5]] },
  'RebuildFailed ExecutionsFailed': { source: STATES, ...once([0, 1], [0]) },
  'RebuildFailed ExecutionsTimedOut': { source: STATES, ...once([0, 1], [0]) },
  'ExportFailed ExecutionsFailed': { source: STATES, ...once([0, 1], [0]) },
  'ExportAge ExportAge': { source: OWN, ...once([3_600_000, 50_000_000], [3_600_000]) },
  'ExportSweep Errors': { source: FUNCTION, alarming: EVERY!, normal: NOW_AND_THEN! },
  'ScheduledExportFailed ScheduledExportsFailed': { source: OWN, ...once([0, 1], [0]) },
  'ScheduledExportFailed Errors': { source: FUNCTION, ...once([0, 1], [0]) },
  'ScheduledExportLate ScheduledExportsLate': { source: OWN, ...once([0, 2], [0]) },
  'AuditRefused AuditRefused': { source: OWN, ...once([1], []) },
  'IndexLost IndexLost': { source: OWN, ...once([0, 0, 1, 0], [0, 0]) },
  'SearchDomain ClusterStatus.red': { source: DOMAIN, alarming: [[0], [0, 1], [1, 0]], normal: [[1], [0], [1]] },
  'SearchDomain ClusterIndexWritesBlocked': { source: DOMAIN, alarming: [[0], [0, 1], [1, 0]], normal: [[1], [0], [1]] },
  'SearchMemory JVMMemoryPressure': { source: DOMAIN, alarming: [[70, 90], [88], [95]], normal: [[90], [60, 75], [90]] },
  'SearchDisk FreeStorageSpace': { source: DOMAIN, ...once([150_000, 51_000], [150_000, 52_000]) },
  'SearchKey KMSKeyError': { source: DOMAIN, ...once([0, 1], [0]) },
  'SearchKey KMSKeyInaccessible': { source: DOMAIN, ...once([0, 1], [0]) },
  'SearchRejections ThreadpoolSearchRejected': { source: DOMAIN, alarming: [[4, 4], [5, 5], [5, 7], [9, 9]], normal: [[4, 4], [9, 9], [9, 9], [0, 1]] },
  'SearchRejections ThreadpoolWriteRejected': { source: DOMAIN, alarming: [[0, 0], [0, 1], [1, 1], [2, 1]], normal: [[3, 3], [3, 3], [3], [3, 3]] },
  'SearchYellow ClusterStatus.yellow': { source: DOMAIN, alarming: [[1, 1], [1], [1, 1]], normal: [[1, 1], [0, 1], [1, 1]] },
  'SearchNodes Nodes': { source: DOMAIN, alarming: [[2, 2], [2], [1, 2]], normal: [[2, 2], [2, 3], [6, 6]] },
  'SearchSnapshot AutomatedSnapshotFailure': { source: DOMAIN, ...once([0, 1], [0]) },
  'LargestShard LargestShard': { source: OWN, ...once([30 * 1_024 ** 3, 33_000_000_000], [30 * 1_024 ** 3]) },
  'TokenErrors 5XXError': { source: ['AWS/ApiGateway', 'ApiName,Method,Resource,Stage'], alarming: [[], [0, 1], [2, 0]], normal: [[1], [0], [1]] },
  'ArchiveAge IteratorAge': { source: FUNCTION, alarming: [[0], [0, 1_000_000], [950_000]], normal: [[1_000_000], [1_000_000], [310_000]] },
  'ArchiveErrors Errors': { source: FUNCTION, alarming: EVERY!, normal: NOW_AND_THEN! },
  'ArchiveErrors FailedInvokeEventCount': { source: MAPPING, alarming: EVERY!, normal: NOW_AND_THEN! },
  'ArchiveNotFollowed PolledEventCount': { source: MAPPING, alarming: [[], [], []], normal: [[0, 0, 0], [], [0]], silent: 'ALARM' },
  'ArchivePutAside OnFailureDestinationDeliveredEventCount': { source: MAPPING, ...once([0, 1], [0]) },
  'ArchiveDropped DroppedEventCount': { source: MAPPING, ...once([0, 1], [0]) },
  'MemberGuessing Refused': { source: OWN, ...once([...refused(30, 100), GUESSING, 0], refused(30, 100)) },
  'SigningKeys Errors': { source: FUNCTION, ...once([0, 1], [0]) },
} // biome-ignore format: a table

const labelOf = (name: string, alarm: Tree): string => `${name} ${metricOf(alarm).MetricName}`
const all = [...alarms].flatMap(([name, alarmsOfName]) => alarmsOfName.map((alarm) => [labelOf(name, alarm), alarm] as const))

it('every alarm is tested', () => expect([...new Set(all.map(([name]) => name))].sort()).toEqual(Object.keys(ROWS).sort()))

describe.each(all.filter(([name]) => ROWS[name] !== undefined))('the alarm %s', (name, alarm) => {
  const { source, alarming, normal, silent } = ROWS[name]!
  const { Namespace, Dimensions = [], Period } = metricOf(alarm)
  const dimensions = Dimensions.map(({ Name }: Tree) => Name).sort()

  it('goes off for the fault it is about, and not otherwise', () => {
    expect([alarmStateOf(alarm, alarming), alarmStateOf(alarm, normal)]).toEqual(['ALARM', 'OK'])
  })

  it('has the right state if no values are written', () => expect(alarmStateOf(alarm, [[], [], []])).toBe(silent ?? 'OK'))

  it('watches the namespace and dimensions that its service writes', () => {
    const sources = name.startsWith('TableThrottles') ? [source, INDEX] : [source]
    expect(sources.map(([namespace, names]) => `${namespace} ${names}`)).toContain(`${Namespace} ${dimensions.join()}`)
  })

  it('evaluates at most three periods of five minutes', () => {
    expect(Period).toBe(300)
    expect(alarm.EvaluationPeriods).toBeLessThanOrEqual(3)
  })
})

describe('the filters of the access log', () => {
  const filters = Object.values(resourcesOfType(tokens.service, 'AWS::Logs::MetricFilter'))
  const [{ AccessLogSetting }] = Object.values(resourcesOfType(tokens.service, 'AWS::ApiGateway::Stage')) as [Tree]
  const [alarm] = alarms.get('Refused')!

  /** Line of the access log, in the format of the template. */
  const lineOf = (context: Readonly<Record<string, string>>): Tree =>
    JSON.parse(AccessLogSetting.Format.replaceAll(/\$context\.([\w.]+)/g, (_: string, name: string) => context[name] ?? '-'))
  const COMPARISON = /^\(?\$\.(\w+) (=|!=) "(.*?)"\)?$/
  const isTrue = (comparison: string, line: Tree): boolean => {
    const [, field, operator, value] = COMPARISON.exec(comparison)!
    const [own, [, ending]] = [line[field!] as string | undefined, /^\*(.*)$/.exec(value!) ?? []]
    return (ending === undefined ? own === value : own?.endsWith(ending) === true) === (operator === '=')
  }
  const matches = (pattern: string, line: Tree): boolean =>
    pattern
      .slice(2, -2)
      .split(' && ')
      .every((part) => part.split(' || ').some((each) => isTrue(each, line)))
  /** Values that the filters write for requests with these statuses. */
  const valuesOf = (statuses: readonly number[], resourcePath = '/{type}'): MetricPeriod =>
    statuses.flatMap((status) => {
      const line = lineOf({ status: String(status), resourcePath })
      return filters
        .filter(({ FilterPattern }) => matches(FilterPattern, line))
        .map(({ MetricTransformations: [{ MetricValue }] }) => Number(MetricValue))
    })
  const some = (count: number, status: number): readonly number[] => Array.from({ length: count }, () => status)

  it('write one value for each request, with the namespace, name and dimension of the alarm', () => {
    expect(valuesOf([200, 401, 403, 404, 422, 429, 500])).toEqual([0, 1, 1, 0, 0, 0, 0])
    expect(valuesOf([200, 200], '/health')).toEqual([])
    for (const { path } of ROUTES.filter((route) => /-match$/.test(route.path)))
      expect([path, valuesOf([200, 202, 401, 403, 422, 429], path)]).toEqual([path, [0, 0, 1, 1, 0, 1]])
    const { Namespace, MetricName, Dimensions } = metricOf(alarm)
    for (const { MetricTransformations } of filters) {
      const [{ Dimensions: dimensions, ...transformation }] = MetricTransformations
      expect(transformation).toMatchObject({ MetricNamespace: Namespace, MetricName })
      const line = lineOf({ status: '200' })
      expect(dimensions.map(({ Key, Value }: Tree) => ({ Name: Key, Value: line[Value.slice(2)] }))).toEqual(Dimensions)
    }
  })

  it('set off the alarm if all clients are refused, but not if they miss resources', () => {
    const threeTimes = (period: MetricPeriod) => alarmStateOf(alarm, [period, period, period])
    // Each client gets a new token before it tries again.
    expect(threeTimes(valuesOf([...some(30, 200), ...some(30, 401)]))).toBe('ALARM')
    expect(threeTimes(valuesOf(some(60, 404)))).toBe('OK')
    expect(threeTimes(valuesOf([...some(10, 403), ...some(60, 404)]))).toBe('OK')
  })
})

it('throttles of both tables and of the index are watched', () => {
  const watched = alarms.get('TableThrottles')!.map(({ Dimensions, MetricName }) => `${MetricName} ${JSON.stringify(Dimensions)}`)
  expect([watched.length, new Set(watched).size]).toEqual([6, 6])
})

it('records that remain are watched for the indexer, polls for settle-transactions', () => {
  const mappingOf = (name: string): string => outputOf(tokens, metricOf(alarms.get(name)![0]!).Dimensions[0].Value).Ref
  for (const [name, sort] of Object.entries({ NotFollowed: 'T', PutAside: 'H', Dropped: 'H' }))
    expect(JSON.stringify(tokens.service.Resources[mappingOf(name)].Properties.FilterCriteria)).toContain(`\\"${sort}\\"`)
})

describe('the event source mappings of the stream', () => {
  const mappings = Object.values<Tree>(tokens.service.Resources).filter(({ Type }) => Type === 'AWS::Lambda::EventSourceMapping')
  const records = Array.from(
    { length: 6 },
    (_, i): StreamRecord => ({
      dynamodb: { SequenceNumber: String(i + 1), ApproximateCreationDateTime: 1, Keys: { sk: { S: 'H' } } },
    }),
  )
  const driven = async (answers: readonly InvocationResult[], records: readonly StreamRecord[]) => {
    const [reads, mapping] = [[records], mappingOf(mappings.find((each) => JSON.stringify(each).includes('\\"H\\"'))!)]
    let calls = 0
    const { drain, figures } = pump({
      mapping,
      read: async () => reads.shift() ?? [],
      invoke: async () => answers[calls++] ?? { result: '{"batchItemFailures":[]}' },
      onDiscarded: () => undefined,
      now: () => 1_000,
      backoff: 0,
    })
    await drain()
    return figures
  }
  const of = (name: string, metricName: string): Tree => alarms.get(name)!.find(({ MetricName }) => MetricName === metricName)!

  it('write metrics of event counts', () => {
    expect(mappings).toHaveLength(3)
    for (const { Properties } of mappings) expect(Properties.MetricsConfig).toEqual({ Metrics: ['EventCount'] })
  })

  it('set off an alarm for partial failures although no call failed', async () => {
    const partly: InvocationResult = { result: '{"batchItemFailures":[{"itemIdentifier":"4"}]}' }
    const { failedEvents, errors, polled } = await driven([partly, partly, partly], records)
    expect([failedEvents.length, errors]).toEqual([3, 0])
    expect(alarmStateOf(of('FollowerErrors', 'FailedInvokeEventCount'), [failedEvents, failedEvents, failedEvents])).toBe('ALARM')
    expect(alarmStateOf(of('FollowerErrors', 'Errors'), [[errors], [errors], [errors]])).toBe('OK')
    expect(alarmStateOf(of('NotFollowed', 'PolledEventCount'), [polled, polled, polled])).toBe('OK')
  })

  it('set off no alarm if there is nothing to do', async () => {
    const { polled, failedEvents } = await driven([], [])
    expect(polled).toEqual([0])
    expect(alarmStateOf(of('NotFollowed', 'PolledEventCount'), [polled, polled, polled])).toBe('OK')
    expect(alarmStateOf(of('FollowerErrors', 'FailedInvokeEventCount'), [failedEvents, failedEvents, failedEvents])).toBe('OK')
  })
})

describe('the heartbeat', () => {
  const [alarm] = alarms.get('Pulse')!
  const followed = (): Tree =>
    Object.values<Tree>(tokens.service.Resources).find(
      (each) => each.Type === 'AWS::Lambda::EventSourceMapping' && JSON.stringify(each).includes('\\"P\\"'),
    )
  const MINUTE = 60_000

  /** Sends a heartbeat every minute, and follows it if `follows` is true. Returns the logged values per period of the alarm, without the first. */
  const periodsOf = async (minutes: number, follows: (minute: number) => boolean): Promise<readonly MetricPeriod[]> => {
    const log = jest.spyOn(console, 'log').mockReturnValue()
    const [stream, mapping] = [[] as StreamRecord[], mappingOf(followed())]
    const send = async (beats: readonly ShardHeartbeat[]) =>
      void stream.push(
        ...beats.map((beat, i): StreamRecord => {
          const { pk, sk, sent } = heartbeatItem(beat)
          const image = { pk: { S: pk }, sk: { S: sk }, sent: { N: String(sent) } }
          const images = { NewImage: image, OldImage: { ...image, sent: { N: String(Number(sent) - MINUTE) } } }
          return { dynamodb: { SequenceNumber: `${beat.sent}${i}`, ApproximateCreationDateTime: 1, Keys: image, ...images } }
        }),
      )
    const heartbeatOf = async (sent: number) => ({ Patient: { identity: 'one', sent } })
    const parts = heartbeatParts({ send, tell: heartbeatOf })
    for (let minute = 1; minute <= minutes; minute++) {
      const now = minute * MINUTE
      logHeartbeatAge(heartbeatAgeOf(await sendHeartbeat(parts, now), {}, now), { stage: 'dev', at: now })
      const { drain } = pump({
        mapping,
        read: async () => stream.splice(0),
        invoke: async ({ Records }) => {
          await followHeartbeat(parts, Records.flatMap((record) => heartbeatOfRecord(record) ?? []), now)
          return { result: '{"batchItemFailures":[]}' }
        },
        onDiscarded: () => undefined,
        now: () => 1_000,
      }) // biome-ignore format: one pump
      if (follows(minute)) await drain()
    }
    const logged = log.mock.calls.map(([line]): Tree => JSON.parse(String(line)))
    const { _aws, ...values } = logged[0]!
    const [{ Namespace, Dimensions, Metrics }] = _aws.CloudWatchMetrics
    expect([alarm.Namespace, alarm.MetricName, alarm.Dimensions]).toEqual([
      Namespace,
      Metrics[0].Name,
      Dimensions[0].map((Name: string) => ({ Name, Value: values[Name] })),
    ])
    const periods = Map.groupBy(logged, ({ _aws: { Timestamp } }) => Math.floor(Timestamp / alarm.Period / 1_000))
    return [...periods.values()].map((some) => some.flatMap(({ PulseAge }) => PulseAge as readonly number[])).slice(1)
  }

  it('passes the event source mapping without an alarm', async () => {
    const periods = await periodsOf(20, () => true)
    expect(periods.flat().every((age) => age === MINUTE)).toBe(true)
    expect(alarmStateOf(alarm, periods)).toBe('OK')
  })

  it('sets off its alarm while it is sent but does not arrive', async () => {
    const stops = (minute: number) => minute < 8 || minute > 23
    expect(alarmStateOf(alarm, await periodsOf(23, stops))).toBe('ALARM')
    jest.restoreAllMocks()
    expect(alarmStateOf(alarm, await periodsOf(35, stops))).toBe('OK')
  })

  it('sets off its alarm if it never arrives or is never sent', async () => {
    expect(alarmStateOf(alarm, await periodsOf(20, () => false))).toBe('ALARM')
    expect(alarmStateOf(alarm, [[60_000], [], []])).toBe('ALARM')
  })
})

it.each([
  [['Patient', 'Basic'], 'ALARM'],
  [[], 'OK'],
] as const)('lost indices are logged under the watched metric name: %j', (types, state) => {
  const log = jest.spyOn(console, 'log').mockReturnValue()
  logLostIndices(types, { stage: 'dev', at: 0 })
  const { _aws, names, ...values }: Tree = JSON.parse(String(log.mock.calls[0]![0]))
  const [{ Namespace, Dimensions, Metrics }] = _aws.CloudWatchMetrics
  const [alarm] = alarms.get('IndexLost')!
  expect([alarm.Namespace, alarm.MetricName, alarm.Dimensions]).toEqual([
    Namespace,
    Metrics[0].Name,
    Dimensions[0].map((Name: string) => ({ Name, Value: values[Name] })),
  ])
  expect([names, alarmStateOf(alarm, [values.IndexLost, values.IndexLost, values.IndexLost])]).toEqual([
    types.length > 0 ? types : undefined,
    state,
  ])
})

describe('an audit record that cannot be written', () => {
  const record = { requestId: 'r', at: 0 } as AuditRecord
  const refusing = { putAll: () => Promise.reject(new Error('throttled')) } as unknown as TableClient
  const logOn = (dynamo: TableClient, durability: AuditDurability, newId = () => 'id'): DynamoDbAuditLog =>
    new DynamoDbAuditLog({
      ...{ dynamo, retentionDays: 1, durability, newId },
      onError: (error, unwritten) => logUnwrittenAudit(error, unwritten, { stage: 'dev', at: 0 }),
    })
  const linesOf = (print: { readonly mock: { readonly calls: readonly (readonly unknown[])[] } }): readonly Tree[] =>
    print.mock.calls.map(([line]) => JSON.parse(String(line)))

  it.each(['strict', 'batched'] as const)('is counted under the watched metric name: %s', async (durability) => {
    const log = jest.spyOn(console, 'log').mockReturnValue()
    jest.spyOn(console, 'error').mockReturnValue()
    const audit = logOn(refusing, durability)
    await Promise.resolve(audit.record(record)).catch(() => undefined)
    await audit.flush()
    const [{ _aws, ...values }] = linesOf(log) as [Tree]
    const [{ Namespace, Dimensions, Metrics }] = _aws.CloudWatchMetrics
    const [alarm] = alarms.get('AuditRefused')!
    expect([alarm.Namespace, alarm.MetricName, alarm.Dimensions]).toEqual([
      Namespace,
      Metrics[0].Name,
      Dimensions[0].map((Name: string) => ({ Name, Value: values[Name] })),
    ])
    expect(alarmStateOf(alarm, [[], [], [values.AuditRefused[0]]])).toBe('ALARM')
  })

  it.each(['strict', 'batched'] as const)('is logged once, as the item that is retried: %s', async (durability) => {
    const [counted, errors] = [jest.spyOn(console, 'log').mockReturnValue(), jest.spyOn(console, 'error').mockReturnValue()]
    const [written, dynamo] = [[] as unknown[], { putAll: refusing.putAll }]
    const audit = logOn(dynamo as unknown as TableClient, durability)
    for (const requestId of ['a', 'b']) await Promise.resolve(audit.record({ ...record, requestId })).catch(() => undefined)
    await audit.flush()
    await Promise.resolve(audit.prepare()).catch(() => undefined)
    const unwritten = linesOf(errors).flatMap((line) => line.unwritten ?? [])
    expect(unwritten.map(({ requestId }) => requestId)).toEqual(['a', 'b'])
    const refused = linesOf(counted).flatMap(({ AuditRefused }) => AuditRefused as readonly number[])
    expect(refused).toEqual(durability === 'batched' ? [2] : [1, 1, 1])
    dynamo.putAll = async (...[items]: readonly unknown[]) => void written.push(...(items as readonly unknown[]))
    await audit.prepare()
    await audit.flush()
    expect(written).toEqual(unwritten)
  })

  it('is spread with others of its minute over 64 keys, despite equal request ids', async () => {
    const keys = new Set<string>()
    const dynamo = {
      putAll: async (items: readonly { readonly pk: string }[]) => void items.map(({ pk }) => keys.add(pk)),
    } as unknown as TableClient
    let count = 0
    const audit = logOn(dynamo, 'batched', () => `id ${count++}`)
    for (let i = 0; i < 2_000; i++) audit.record(record)
    await audit.flush()
    expect(keys.size).toBe(64)
  })
})

describe('a partner that guesses', () => {
  const alarmed = (name: string, periods: readonly MetricPeriod[]) => alarmStateOf(alarms.get(name)![0]!, periods)

  it('is logged, and counted without a unit in the metric of refused requests', () => {
    const [warned, counted] = [jest.spyOn(console, 'warn').mockReturnValue(), jest.spyOn(console, 'log').mockReturnValue()]
    logGuessing('MemberGuessing: the partner c', { stage: 'dev', at: 5 })
    expect(JSON.parse(String(warned.mock.calls[0]![0]))).toEqual({ level: 'warning', message: 'MemberGuessing: the partner c' })
    const { _aws, ...values } = JSON.parse(String(counted.mock.calls[0]![0]))
    const [{ Namespace, Dimensions, Metrics }] = _aws.CloudWatchMetrics
    const { Namespace: watched, MetricName, Dimensions: dimensions } = metricOf(alarms.get('MemberGuessing')![0]!)
    expect([Namespace, Metrics[0].Name, Dimensions[0]]).toEqual([watched, MetricName, dimensions.map(({ Name }: Tree) => Name)])
    // An alarm treats values of different units as different metrics. The filters of the access log write no unit.
    const filters = Object.values(resourcesOfType(tokens.service, 'AWS::Logs::MetricFilter'))
    const units = filters.map(({ MetricTransformations: [{ Unit = 'None' }] }) => Unit)
    expect(new Set([...units, Metrics[0].Unit])).toEqual(new Set(['None']))
    expect(alarmed('MemberGuessing', [[], [], values.Refused])).toBe('ALARM')
  })

  it('does not set off the alarm about refused requests by five guesses', () => {
    const period: MetricPeriod = [...refused(0, 20), GUESSING]
    expect([alarmed('MemberGuessing', [period, period, period]), alarmed('Refused', [period, period, period])]).toEqual(['ALARM', 'OK'])
  })
})

/** Severity of an alarm, in its description. */
const severityOf = ({ AlarmDescription }: Tree): string => /^\w+ \((\w+)\)/.exec(AlarmDescription)![1]!
const SEVERITY_OUTPUTS: Readonly<Record<string, string>> = { page: 'AlarmTopic', ticket: 'TicketTopic', info: 'InfoTopic' }

describe('the topic of a severity', () => {
  const topicOf = (severity: string): string => tokens.service.Outputs[SEVERITY_OUTPUTS[severity]!].Value.Ref

  it('is notified of the beginning and the end of each alarm of this severity, and of no other', () => {
    const all = [...alarms.values()].flat()
    expect(new Set(all.map(severityOf))).toEqual(new Set(SEVERITIES))
    for (const alarm of all) {
      for (const actions of [alarm.AlarmActions, alarm.OKActions])
        expect(actions.map((action: Tree) => outputOf(tokens, action).Ref)).toEqual([topicOf(severityOf(alarm))])
    }
  })

  it.each(SEVERITIES)('is encrypted with the key of the stage, and CloudWatch may publish to it: %s', (severity) => {
    const topics = resourcesOfType(tokens.service, 'AWS::SNS::Topic')
    const { KmsMasterKeyId } = topics[topicOf(severity)]!
    expect(JSON.stringify(KmsMasterKeyId)).toMatch(/Key/)
    const policies = Object.values(resourcesOfType(tokens.service, 'AWS::SNS::TopicPolicy'))
    const { PolicyDocument } = policies.find(({ Topics }) => Topics[0].Ref === topicOf(severity))!
    expect(PolicyDocument.Statement).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ Effect: 'Allow', Action: 'sns:Publish', Principal: { Service: 'cloudwatch.amazonaws.com' } }),
        expect.objectContaining({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
      ]),
    )
  })

  it('keeps its logical id, because operators subscribe to it', () => {
    const ids = Object.keys(SEVERITY_OUTPUTS).map((severity) => topicOf(severity).slice(0, -8))
    expect(ids).toEqual(['WatchAlarms', 'WatchTickets', 'WatchInfos'])
  })

  it('is mailed, except for info', () => {
    const mailed = Object.values(resourcesOfType(tokens.service, 'AWS::SNS::Subscription'))
    expect(mailed.map(({ TopicArn, Protocol, Endpoint }) => [TopicArn.Ref, Protocol, Endpoint])).toEqual(
      ['page', 'ticket'].map((severity) => [topicOf(severity), 'email', 'ops@example.org']),
    )
  })
})

/** Maximum characters of a description. https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html */
const MOST_DESCRIPTION = 1_024

it('the runbook lists each alarm with its severity and an action', () => {
  const all = [...alarms.values()].flat()
  const watched = [...alarms].map(([name, [alarm]]) => `${name} ${severityOf(alarm)}`)
  const runbook = readFileSync('lib/docs/operate.md', 'utf8').match(/\| alarm \| severity \| means \| do \|\n.*\n(?:\|.*\n)+/)![0]
  expect([...watched].sort()).toEqual(
    [...runbook.matchAll(/^\| (\w+) \| (page|ticket|info) \|/gm)].map(([, name, severity]) => `${name} ${severity}`).sort(),
  )
  for (const { AlarmDescription } of all) {
    expect(AlarmDescription).toMatch(/^\w+ \(\w+\): .+\. .{20,}/)
    expect(AlarmDescription.length).toBeLessThanOrEqual(MOST_DESCRIPTION)
  }
  expect(Object.keys(resourcesOfType(tokens.operation, 'AWS::CloudWatch::Dashboard'))).toHaveLength(1)
})
