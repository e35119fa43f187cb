/** Log output of functions: one line of JSON each, for CloudWatch. It holds no content of requests or resources. */
import { NotFetched } from '../../ports/security/fetch-document.ts'

type Thrown = { readonly name?: string; readonly code?: string; readonly message?: string; readonly stack?: string }

/**
 * Logs an error by kind, code and stack locations. Messages may hold content, so only messages of NotFetched are logged: they describe
 * documents that other servers publish.
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

/** Logs a warning about something that an operator can fix. */
export const warn = (message: string): void => console.warn(JSON.stringify({ level: 'warning', message }))

/**
 * Logs audit records that could not be written, each as the item it would be in the state table. They name resources, patients and users,
 * and hold no content.
 */
export function logUnwrittenAudit(error: unknown, unwritten: readonly object[], about: Pick<Told, 'stage' | 'at'>): void {
  report(error, 'audit')
  for (const item of unwritten)
    console.error(JSON.stringify({ level: 'error', message: 'an audit record is not written', unwritten: item }))
  // If a request is rejected because earlier records are still unwritten, the list is empty. Count it as one.
  logMetric('AuditRefused', 'Count', [Math.max(1, unwritten.length)], about)
}

/** Logs the types whose searches are rejected until their lost index is rebuilt. Runs every minute, also if there are none. */
export const logLostIndices = (types: readonly string[], about: Pick<Told, 'stage' | 'at'>): void =>
  logMetric('IndexLost', 'Count', [types.length], { ...about, ...(types.length > 0 && { names: types }) })

/**
 * Logs the age of the latest heartbeat that arrived, in milliseconds. Runs every minute on the schedule, so it also works if the stream
 * follower stops.
 */
export const logHeartbeatAge = (age: number, about: Pick<Told, 'stage' | 'at'>): void => logMetric('PulseAge', 'Milliseconds', [age], about)

/** Logs the lag of the table's index, in milliseconds. Runs every minute. */
export const logTableIndexLag = (lag: number, about: Pick<Told, 'stage' | 'at'>): void =>
  logMetric('TableIndexLag', 'Milliseconds', [lag], about)

export const METRIC_NAMESPACE = 'FHIR'

/** Names of all metrics of this code. Each has an alarm (lib/monitoring/watches.ts). */
export const METRIC_NAMES = [
  'AuditRefused',
  'ExportAge',
  'IndexLag',
  'IndexLost',
  'PulseAge',
  'ScheduledExportsFailed',
  'ScheduledExportsLate',
  'TableIndexLag',
] as const
export type MetricName = (typeof METRIC_NAMES)[number]

/** Maximum values in an array of the metric format. */
const MOST_VALUES = 100

export type MetricUnit = 'Milliseconds' | 'Count'

/** Context of a metric. `names`: names of its subjects, logged beside the values. */
type Told = { readonly stage: string; readonly at: number; readonly names?: readonly string[] }

/**
 * Logs values in the embedded metric format. `at`: milliseconds since 1970.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
 */
export function logMetric(name: MetricName, unit: MetricUnit, values: readonly number[], { stage, at, names }: Told): void {
  const metrics = { Namespace: METRIC_NAMESPACE, Dimensions: [['Stage']], Metrics: [{ Name: name, Unit: unit }] }
  const _aws = { Timestamp: at, CloudWatchMetrics: [metrics] }
  for (let from = 0; from < values.length; from += MOST_VALUES)
    console.log(JSON.stringify({ _aws, Stage: stage, [name]: values.slice(from, from + MOST_VALUES), ...(names && { names }) }))
}
