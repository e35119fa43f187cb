/** Watches for a deployment: failures that CloudWatch can detect, and the remedy for each. */
import { watchesOfArchive } from './archive-watches.ts'
import { watchesOfDomain, watchesOfShards } from './domain-watches.ts'
import { executionsOf, watchesOfExports, watchesOfSchedules, watchesOfTokens } from './export-watches.ts'
import {
  type DeployedNames,
  functionMetricOf,
  mappingMetricOf,
  REFUSED_METRIC,
  stageMetricOf,
  type Watch,
  type WatchedMetric,
} from './watch.ts'

/** Share of a limit from which an alarm warns. */
const NEAR = 0.7
/** Seconds of a period. */
const PERIOD = 300

export function watchesOf(deployed: DeployedNames): readonly Watch[] {
  const { stage, rebuild, exports, domain, api, tokens, archive } = deployed
  return [
    ...watchesOfRequests(deployed),
    ...watchesOfStream(deployed),
    ...watchesOfLimits(deployed),
    {
      title: 'Unwritten audit records',
      metrics: [stageMetricOf(stage, 'AuditRefused', 'Sum')],
      alarm: {
        name: 'AuditRefused',
        severity: 'page',
        above: 0,
        means:
          'audit records could not be written. With auditDurability strict, their requests fail. The log of their function holds them, and the function retries while it lives',
        todo: 'Check the state table, its key, the roles, and "audit" in the logs of the functions. Then search the logs for { $.unwritten.pk = * } and put the missing items into the state table, before logRetentionDays have passed',
      },
    },
    {
      title: 'Types with a lost index',
      metrics: [stageMetricOf(stage, 'IndexLost', 'Maximum')],
      alarm: {
        name: 'IndexLost',
        severity: 'page',
        above: 0,
        means:
          'OpenSearch lacks an index or holds an older state of it, or the setting search names another domain. Searches of its types are 503 until the rebuild, which has started, is complete',
        todo: 'Find the cause. The log of the indexer names the types in `names` beside IndexLost. $reindex-status shows the progress; if there is none, look at the executions of the rebuild',
      },
    },
    {
      title: 'Failed rebuilds',
      metrics: executionsOf(rebuild, 'ExecutionsFailed', 'ExecutionsTimedOut'),
      alarm: {
        name: 'RebuildFailed',
        severity: 'ticket',
        above: 0,
        means: 'documents were not rebuilt, or not within six days. The old index answers, unless it was lost or the store was restored',
        todo: 'Look at the failed execution and the log of rebuild-step. The rebuild continues within half an hour',
      },
    },
    ...watchesOfExports(stage, exports),
    ...(exports.starter === undefined ? [] : watchesOfSchedules(stage, exports.starter)),
    ...(domain === undefined ? [] : watchesOfDomain(domain)),
    ...watchesOfShards(stage, domain),
    ...(tokens === undefined ? [] : watchesOfTokens(stage, api, tokens)),
    ...(archive === undefined ? [] : watchesOfArchive(archive)),
  ]
}

const apiMetricOf = ({ api }: DeployedNames, metricName: string, statistic: string): WatchedMetric => ({
  namespace: 'AWS/ApiGateway',
  metricName,
  statistic,
  dimensions: { ApiName: api.name, Stage: api.stage },
})

const watchesOfRequests = (deployed: DeployedNames): readonly Watch[] => [
  { title: 'Requests', metrics: [apiMetricOf(deployed, 'Count', 'Sum'), apiMetricOf(deployed, '4XXError', 'Sum')] },
  {
    title: 'Server errors, share of requests',
    metrics: [apiMetricOf(deployed, '5XXError', 'Average')],
    alarm: {
      name: 'ServerErrors',
      severity: 'page',
      above: 0.01,
      periods: 3,
      means: 'more than 1 % of requests fail',
      todo: 'Look at `error` in the access log, then for level "error" in the logs of the functions that it names. Throttles and OpenSearch have alarms of their own',
    },
  },
  {
    title: 'Responses 401 and 403, and 429 to matches, share of requests',
    // At night a single client with an expired token may send all requests. So the alarm ignores periods with fewer than 20 requests.
    metrics: [{ ...stageMetricOf(deployed.stage, REFUSED_METRIC, 'Average'), expression: 'IF(n >= 20, m, 0)' }],
    alarm: {
      name: 'Refused',
      severity: 'page',
      above: 0.3,
      periods: 3,
      means: 'for a quarter of an hour, more than 30 % of requests have been answered 401 or 403, or were matches of members answered 429',
      todo: 'Group the access log by route and status. If all clients are affected, check the signing keys (SigningKeys), external issuers, the origin secret, and the last change of settings or of clients. If a single client is affected, correct or remove it. If matches are answered 429, look for MemberGuessing in the logs of member-match and export-step: the line names the partner that guesses',
    },
  },
  {
    title: 'Latency, ms',
    metrics: [apiMetricOf(deployed, 'Latency', 'p99')],
    alarm: {
      name: 'Latency',
      severity: 'ticket',
      above: 3_000,
      periods: 3,
      means: '1 % of requests take more than 3 s',
      todo: 'Group the access log by route. Cold starts affect all routes, slow searches only their own. For searches look at CPU and memory of OpenSearch',
    },
  },
]

function watchesOfStream({ stage, followers, mappings }: DeployedNames): readonly Watch[] {
  const functionMetrics = (metricName: string, statistic: string): readonly WatchedMetric[] =>
    Object.entries(followers).map(([label, name]) => ({
      ...functionMetricOf(name, metricName, statistic),
      label: `${label}: ${metricName}`,
    }))
  const mappingMetric = (label: keyof typeof mappings, metricName: string, statistic: string): WatchedMetric => ({
    ...mappingMetricOf(mappings[label], metricName, statistic),
    label: `${label}: ${metricName}`,
  })
  return [
    {
      title: 'Index lag, ms',
      metrics: [stageMetricOf(stage, 'IndexLag', 'p95')],
      alarm: {
        name: 'IndexLag',
        severity: 'ticket',
        above: 60_000,
        periods: 3,
        means: 'writes are searchable after more than a minute',
        todo: 'Nothing is lost. Enlarge OpenSearch if it is slow or rejects writes. If it is idle, raise parallelizationFactor',
      },
    },
    {
      title: 'Age of the stream, ms',
      metrics: functionMetrics('IteratorAge', 'Maximum'),
      alarm: {
        name: 'IteratorAge',
        severity: 'ticket',
        above: 600_000,
        periods: 2,
        means: 'a function that follows the stream is ten minutes behind',
        todo: 'Look at its log. It retries a failed record for 20 hours; fix the cause before. Then it continues by itself',
      },
    },
    {
      title: 'Errors of functions that follow the stream',
      // `Errors` does not count records that a function reports as failed one by one. The second metric does.
      // settle-transactions does not need it: its sweep settles the same transactions every minute, and fails if it cannot.
      metrics: [...functionMetrics('Errors', 'Sum'), mappingMetric('indexer', 'FailedInvokeEventCount', 'Sum')],
      alarm: {
        name: 'FollowerErrors',
        severity: 'ticket',
        above: 0,
        periods: 3,
        means: 'a function that follows the stream fails repeatedly, or leaves records',
        todo: 'Look at its log. The stream retains records for 24 hours',
      },
    },
    {
      title: 'Reads of the stream by settle-transactions',
      // Heartbeat reports an indexer that does not read the stream.
      metrics: [mappingMetric('settle-transactions', 'PolledEventCount', 'SampleCount')],
      alarm: {
        name: 'NotFollowed',
        severity: 'ticket',
        below: 1,
        periods: 3,
        isSilenceWrong: true,
        means:
          'settle-transactions has not read the stream for a quarter of an hour. Its sweep settles large transactions every minute instead, so that searches show them late',
        todo: 'Check the event source mapping of the function: whether it is enabled, its last result, and the permissions of its role for the key and the stream',
      },
    },
    {
      title: 'Age of the heartbeat, ms',
      metrics: [stageMetricOf(stage, 'PulseAge', 'Maximum')],
      alarm: {
        name: 'Pulse',
        severity: 'page',
        ...{ above: 300_000, periods: 2, isSilenceWrong: true },
        means:
          'the heartbeat reaches the index after more than five minutes, or no heartbeat is sent. Conditional interactions are 503, and new writes may not be searchable',
        todo: 'Look at the log of the indexer, IteratorAge and OpenSearch. Without errors there, check the event source mapping of the indexer: whether it is enabled, its last result, and the permissions of its role for the key and the stream. On a stage without writes, check the rule Sweep-index. The stream loses records after 24 hours; the server rebuilds their documents once it follows the stream again',
      },
    },
    {
      title: "Lag of the table's index, ms",
      metrics: [stageMetricOf(stage, 'TableIndexLag', 'Maximum')],
      alarm: {
        name: 'TableIndexLag',
        severity: 'ticket',
        ...{ above: 2_000, periods: 2, isSilenceWrong: true },
        means:
          "the table's index gsi1 lags by more than 2 s, or its lag is not measured. Histories with _since, exports and conditional interactions wait, or are 503",
        todo: 'Nothing is lost. Look at TableThrottles, and for a load on one type. On a stage without writes, look at the log of the indexer and at the rule Sweep-index',
      },
    },
    {
      title: 'Stream records stored in the bucket',
      // Records that settle-transactions leaves need no repair: its sweep settles the same transactions.
      metrics: [mappingMetric('indexer', 'OnFailureDestinationDeliveredEventCount', 'Sum')],
      alarm: {
        name: 'PutAside',
        severity: 'ticket',
        above: 0,
        means: 'the indexer could not process records for 20 hours. They are stored under aws/lambda/ in the bucket',
        todo: 'Fix the cause, then run npm run fhir -- redrive --stage STAGE. All resources are in the table',
      },
    },
    {
      title: 'Lost stream records',
      metrics: [mappingMetric('indexer', 'DroppedEventCount', 'Sum')],
      alarm: {
        name: 'Dropped',
        severity: 'page',
        above: 0,
        means: 'the indexer could not process records, and they could not be stored in the bucket. All resources are in the table',
        todo: 'Check the permissions of its role in the bucket. Fix the cause, then POST $reindex without a type, for each tenant',
      },
    },
  ]
}

function watchesOfLimits(deployed: DeployedNames): readonly Watch[] {
  const { api, table, stateTable, index } = deployed
  const throttlesOf = (dimensions: WatchedMetric['dimensions']): readonly WatchedMetric[] =>
    ['ReadThrottleEvents', 'WriteThrottleEvents'].map((metricName) => ({
      namespace: 'AWS/DynamoDB',
      ...{ metricName, statistic: 'Sum', dimensions: dimensions! },
    }))
  return [
    {
      title: 'Requests in five minutes',
      metrics: [apiMetricOf(deployed, 'Count', 'Sum')],
      alarm: {
        name: 'RequestRate',
        severity: 'ticket',
        above: NEAR * api.rate * PERIOD,
        means: `clients have sent more than ${100 * NEAR} % of ${api.rate} requests per second for five minutes. Above ${api.rate} the API answers 429`,
        todo: 'Raise limits.rate and limits.burst, and the concurrency of the account with them. In the access log, `error` THROTTLED shows requests that were answered 429',
      },
    },
    {
      title: 'Concurrency of the account',
      metrics: [{ namespace: 'AWS/Lambda', metricName: 'ConcurrentExecutions', statistic: 'Maximum', expression: 'm / SERVICE_QUOTA(m)' }],
      alarm: {
        name: 'Concurrency',
        severity: 'ticket',
        above: NEAR,
        periods: 3,
        means: `functions of the account have used more than ${100 * NEAR} % of its concurrency for a quarter of an hour. At 100 % Lambda rejects calls`,
        todo: 'Raise the quota of the account (Service Quotas), or lower exportWriters and rebuildWidth',
      },
    },
    {
      title: 'Throttled functions of the account',
      metrics: [{ namespace: 'AWS/Lambda', metricName: 'Throttles', statistic: 'Sum' }],
      alarm: {
        name: 'FunctionThrottles',
        severity: 'ticket',
        above: 0,
        periods: 3,
        means: 'Lambda rejects calls, because the account has too little concurrency',
        todo: 'Raise the quota of the account (Service Quotas), or reserve concurrency for the functions that need it (setting concurrency)',
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
        severity: 'ticket',
        above: 0,
        periods: 3,
        means: 'DynamoDB rejects requests of a table or of its index. Functions repeat them for two seconds',
        todo: 'Raise capacity.warm before loads. If the rejections last, check capacity.most, then look for a hot key: a resource that is written all the time',
      },
    },
  ]
}
