/** Log output of functions: one line of JSON each, for CloudWatch. It contains no content of requests or resources. */
import type { RequestLog } from '../../ports/execution/request-log.ts'
import { NotFetched } from '../../ports/security/fetch-document.ts'

type Thrown = { readonly name?: string; readonly code?: string; readonly message?: string; readonly stack?: string }

/**
 * Logs an error by name, code and stack locations. Messages may contain content of resources. Only those of NotFetched are logged, because
 * they describe documents that other servers publish.
 */
export function report(error: unknown, requestId: string): void {
  const { name = typeof error, code, message = '', stack = '' } = (error ?? {}) as Thrown
  const at = stack
    .slice(stack.indexOf(message) + message.length)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('at '))
  const told = error instanceof NotFetched ? { message } : {}
  console.error(JSON.stringify({ level: 'error', requestId, name, ...(code === undefined ? {} : { code }), ...told, at }))
}

/** Logs the record of a request. https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/AnalyzingLogData.html queries its fields. */
export const logRequest: RequestLog = ({ at, ...record }) =>
  console.log(JSON.stringify({ level: 'info', at: new Date(at).toISOString(), ...record }))

/** Logs a warning about something that an operator can fix. */
export const warn = (message: string): void => console.warn(JSON.stringify({ level: 'warning', message }))

/**
 * Logs audit records that could not be written, as items of the state table, so that an operator can add them. They name resources,
 * patients and users, but contain no content. Also counts them in a metric.
 */
export function logUnwrittenAudit(error: unknown, unwritten: readonly object[], about: Pick<MetricContext, 'stage' | 'at'>): void {
  report(error, 'audit')
  for (const item of unwritten)
    console.error(JSON.stringify({ level: 'error', message: 'an audit record is not written', unwritten: item }))
  // The list is empty if a request is rejected because earlier records are still unwritten. Count that request as one.
  logMetric('AuditRefused', 'Count', [Math.max(1, unwritten.length)], about)
}

/**
 * Logs the number of types with a lost index, and their names. Searches of them are rejected until the rebuild. Runs every minute, even if
 * there are none.
 */
export const logLostIndices = (types: readonly string[], about: Pick<MetricContext, 'stage' | 'at'>): void =>
  logMetric('IndexLost', 'Count', [types.length], { ...about, ...(types.length > 0 && { names: types }) })

/**
 * Logs the age of the latest heartbeat that the index received, in milliseconds. The schedule calls it every minute, so the age also grows
 * if the stream is no longer followed.
 */
export const logHeartbeatAge = (age: number, about: Pick<MetricContext, 'stage' | 'at'>): void =>
  logMetric('PulseAge', 'Milliseconds', [age], about)

/** Logs the lag of the table's index, in milliseconds. Called after each heartbeat. */
export const logTableIndexLag = (lag: number, about: Pick<MetricContext, 'stage' | 'at'>): void =>
  logMetric('TableIndexLag', 'Milliseconds', [lag], about)

/** Logs the bytes of the largest shard, and the name of its index. The schedule calls it every minute. */
export const logLargestShard = (
  { index, bytes }: { readonly index: string; readonly bytes: number },
  about: Pick<MetricContext, 'stage' | 'at'>,
): void => logMetric('LargestShard', 'Bytes', [bytes], { ...about, names: [index] })

/** Value of the metric Refused for a partner that guesses at members. For a request, the filters of the access log write 0 or 1. */
export const GUESSING = 2

/**
 * Logs that a partner guesses at members, and sets off the alarm MemberGuessing. The value has no unit, because the values of the access log
 * have none, and an alarm on several units is unpredictable.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html
 */
export function logGuessing(line: string, about: Pick<MetricContext, 'stage' | 'at'>): void {
  warn(line)
  logMetric('Refused', 'None', [GUESSING], about)
}

export const METRIC_NAMESPACE = 'FHIR'

/** Names of all metrics of a stage. Each has an alarm in lib/monitoring. Filters of the access log write `Refused` too. */
export const METRIC_NAMES = [
  'AuditRefused',
  'ExportAge',
  'IndexLag',
  'IndexLost',
  'LargestShard',
  'PulseAge',
  'Refused',
  'ScheduledExportsFailed',
  'ScheduledExportsLate',
  'TableIndexLag',
] as const
export type MetricName = (typeof METRIC_NAMES)[number]

/** Maximum values of one metric line. More values need several lines. The metric format sets this limit. */
const MOST_VALUES = 100

export type MetricUnit = 'Milliseconds' | 'Count' | 'Bytes' | 'None'

/** Context of a metric. `at`: milliseconds since 1970. `names`: names of what was counted, logged beside the values. */
type MetricContext = { readonly stage: string; readonly at: number; readonly names?: readonly string[] }

/**
 * Logs values of a metric in the embedded metric format, from which CloudWatch creates the metric.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
 */
export function logMetric(name: MetricName, unit: MetricUnit, values: readonly number[], { stage, at, names }: MetricContext): void {
  const metrics = { Namespace: METRIC_NAMESPACE, Dimensions: [['Stage']], Metrics: [{ Name: name, Unit: unit }] }
  const _aws = { Timestamp: at, CloudWatchMetrics: [metrics] }
  for (let from = 0; from < values.length; from += MOST_VALUES)
    console.log(JSON.stringify({ _aws, Stage: stage, [name]: values.slice(from, from + MOST_VALUES), ...(names && { names }) }))
}
