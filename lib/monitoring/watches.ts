/** Watches for a deployment: failures that CloudWatch can detect, and the remedy for each. */
import { watchesOfDomain } from './domain-watches.ts'
import { failedExecutionsOf, watchesOfExports, watchesOfSchedules, watchesOfTokens } from './export-watches.ts'
import { type DeployedNames, stageMetricOf, type Watch, type WatchedMetric } from './watch.ts'

export function watchesOf(deployed: DeployedNames): readonly Watch[] {
  const { stage, api, table, stateTable, index, followers, mappings, rebuild, exports, domain, tokens } = deployed
  const apiMetric = (metricName: string, statistic: string): WatchedMetric => ({
    namespace: 'AWS/ApiGateway',
    metricName,
    statistic,
    dimensions: { ApiName: api.name, Stage: api.stage },
  })
  const alarmForEach = (
    names: Readonly<Record<string, string>>,
    dimension: string,
    metricName: string,
    statistic: string,
  ): readonly WatchedMetric[] =>
    Object.entries(names).map(([label, name]) => ({
      namespace: 'AWS/Lambda',
      metricName,
      statistic,
      label: `${label}: ${metricName}`,
      dimensions: { [dimension]: name },
    }))
  const throttlesOf = (dimensions: WatchedMetric['dimensions']): readonly WatchedMetric[] =>
    ['ReadThrottleEvents', 'WriteThrottleEvents'].map((metricName) => ({
      namespace: 'AWS/DynamoDB',
      ...{ metricName, statistic: 'Sum', dimensions: dimensions! },
    }))
  return [
    { title: 'Requests', metrics: [apiMetric('Count', 'Sum'), apiMetric('4XXError', 'Sum')] },
    {
      title: 'Server errors, share of requests',
      metrics: [apiMetric('5XXError', 'Average')],
      alarm: {
        name: 'ServerErrors',
        above: 0.01,
        periods: 3,
        means: 'more than 1 % of requests fail',
        todo: 'Look at `error` in the access log and for level "error" in the logs of the functions it names; throttles and OpenSearch have alarms of their own',
      },
    },
    {
      title: 'Latency, ms',
      metrics: [apiMetric('Latency', 'p99')],
      alarm: {
        name: 'Latency',
        above: 3_000,
        periods: 3,
        means: 'one request of a hundred takes more than 3 s',
        todo: 'Group the access log by route: cold starts are everywhere, slow searches at theirs. For searches look at CPU and memory of OpenSearch',
      },
    },
    {
      title: 'Index lag, ms',
      metrics: [stageMetricOf(stage, 'IndexLag', 'p95')],
      alarm: {
        name: 'IndexLag',
        above: 60_000,
        periods: 3,
        means: 'writes are searchable only after more than a minute',
        todo: 'Nothing is lost. If OpenSearch refuses or is slow, enlarge it; if it is idle, raise parallelizationFactor',
      },
    },
    {
      title: 'Age of the stream, ms',
      metrics: alarmForEach(followers, 'FunctionName', 'IteratorAge', 'Maximum'),
      alarm: {
        name: 'IteratorAge',
        above: 600_000,
        periods: 2,
        means: 'a function that follows the stream is ten minutes behind',
        todo: 'Look at its log: it repeats what fails until it is 20 hours old. Mend the cause before, then it goes on by itself',
      },
    },
    {
      title: 'Errors of functions that follow the stream',
      // `Errors` does not count records that a function reports as failed one by one. The second metric does.
      metrics: [
        ...alarmForEach(followers, 'FunctionName', 'Errors', 'Sum'),
        ...alarmForEach(mappings, 'EventSourceMappingUUID', 'FailedInvokeEventCount', 'Sum'),
      ],
      alarm: {
        name: 'FollowerErrors',
        above: 0,
        periods: 3,
        means: 'a function that follows the stream fails again and again',
        todo: 'Look at its log; the stream is kept for 24 hours',
      },
    },
    {
      title: 'Looks at the stream',
      metrics: alarmForEach(mappings, 'EventSourceMappingUUID', 'PolledEventCount', 'SampleCount'),
      alarm: {
        name: 'NotFollowed',
        below: 1,
        periods: 3,
        isSilenceWrong: true,
        means: 'nobody has looked at the stream for a quarter of an hour: writes are not searchable, large transactions not settled',
        todo: 'Look at the event source mapping of the function: whether it is enabled, what it says of its last processing, and whether the role may use the key and the stream. After 24 hours records are gone: once it is followed again, what they told of is made again by itself, and conditional interactions are 503 until it is',
      },
    },
    {
      title: 'Age of the pulse, ms',
      metrics: [stageMetricOf(stage, 'PulseAge', 'Maximum')],
      alarm: {
        name: 'Pulse',
        ...{ above: 300_000, periods: 2, isSilenceWrong: true },
        means: 'a pulse that goes the way of all writes is in the indices only after more than five minutes',
        todo: 'Conditional interactions are 503 meanwhile, and nothing is lost. Look at the log of the indexer, at IteratorAge, NotFollowed and OpenSearch; where nothing is written at all, at the rule Sweep-index',
      },
    },
    {
      title: "Lag of the table's index, ms",
      metrics: [stageMetricOf(stage, 'TableIndexLag', 'Maximum')],
      alarm: {
        name: 'TableIndexLag',
        ...{ above: 2_000, periods: 2, isSilenceWrong: true },
        means: 'gsi1 shows writes only after more than 2 s',
        todo: 'Nothing is lost: histories with _since, exports and conditional interactions wait for it, or are 503. Look at TableThrottles, and for a load on one type; where nothing is written at all, at the log of the indexer and the rule Sweep-index',
      },
    },
    {
      title: 'Records put aside',
      metrics: alarmForEach(mappings, 'EventSourceMappingUUID', 'OnFailureDestinationDeliveredEventCount', 'Sum'),
      alarm: {
        name: 'PutAside',
        above: 0,
        means: 'records could not be taken for 20 hours and were written to aws/lambda/ in the bucket',
        todo: 'Mend the cause, then npm run fhir -- redrive --stage STAGE; the resources themselves are all in the table',
      },
    },
    {
      title: 'Records dropped',
      metrics: alarmForEach(mappings, 'EventSourceMappingUUID', 'DroppedEventCount', 'Sum'),
      alarm: {
        name: 'Dropped',
        above: 0,
        means: 'records were given up and not even put aside',
        todo: 'POST $reindex without a type, of each tenant, once the cause is mended; check what the role of the function may do in the bucket',
      },
    },
    {
      title: 'Throttled functions of the account',
      metrics: [{ namespace: 'AWS/Lambda', metricName: 'Throttles', statistic: 'Sum' }],
      alarm: {
        name: 'FunctionThrottles',
        above: 0,
        periods: 3,
        means: 'Lambda refuses calls for want of concurrency',
        todo: 'Ask for more concurrency (Service Quotas), or reserve some for the functions that need it (setting concurrency)',
      },
    },
    {
      title: 'Throttled reads and writes of the tables',
      metrics: [
        ...throttlesOf({ TableName: table }),
        ...throttlesOf({ TableName: table, GlobalSecondaryIndexName: index }),
        ...throttlesOf({ TableName: stateTable }),
      ],
      alarm: {
        name: 'TableThrottles',
        above: 0,
        periods: 3,
        means: 'DynamoDB refuses reads or writes; functions repeat them for two seconds',
        todo: 'A sudden load: raise capacity.warm before the next. A lasting one: check capacity.most, then whether one resource is written all the time',
      },
    },
    {
      title: 'Audit records that were refused',
      metrics: [stageMetricOf(stage, 'AuditRefused', 'Sum')],
      alarm: {
        name: 'AuditRefused',
        above: 0,
        means:
          'audit records could not be written: they stand in the log of their function; with auditDurability strict what they are about is answered with an error',
        todo: 'Look for "audit" in the logs of the functions: the table of state throttles, its key cannot be used, or a role may not write it. Put what the filter { $.unwritten.pk = * } finds there into the table of state',
      },
    },
    {
      title: 'Types whose index is lost',
      metrics: [stageMetricOf(stage, 'IndexLost', 'Maximum')],
      alarm: {
        name: 'IndexLost',
        above: 0,
        means:
          'an index is gone from OpenSearch, was set back, or the setting search leads to another domain: searches of its types are 503 until it is made again, which has begun',
        todo: 'Find out who did it: `names` beside IndexLost in the log of the indexer are the types. $reindex-status tells how far they are; if nothing moves, look at the executions of the rebuild',
      },
    },
    {
      title: 'Rebuilds that failed',
      metrics: failedExecutionsOf(rebuild),
      alarm: {
        name: 'RebuildFailed',
        above: 0,
        means: 'documents could not be made again; the old index goes on answering, unless it was lost or the store was set back',
        todo: 'Look at the failed execution and the log of rebuild-step. It is started again within the hour; POST $reindex starts it at once',
      },
    },
    ...watchesOfExports(stage, exports),
    ...(exports.starter === undefined ? [] : watchesOfSchedules(stage, exports.starter)),
    ...(domain === undefined ? [] : watchesOfDomain(domain)),
    ...(tokens === undefined ? [] : watchesOfTokens(api, tokens)),
  ]
}
