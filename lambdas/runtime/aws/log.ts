/** What functions print: one line of JSON each, for CloudWatch. Nothing of what a request or a resource holds. */
import { NotFetched } from '../../ports/security/fetch-document.ts'

type Thrown = { readonly name?: string; readonly code?: string; readonly message?: string; readonly stack?: string }

/** Messages may tell of content, so an error but of what others publish is told by its kind and where it was thrown. */
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

/** What an operator can mend. */
export const warn = (message: string): void => console.warn(JSON.stringify({ level: 'warning', message }))

/**
 * Audit records that could not be written: the log keeps each as the item it would be in the table of state. They name resources, patients and
 * users, and hold no content.
 */
export function logUnwrittenAudit(error: unknown, unwritten: readonly object[], about: Pick<Told, 'stage' | 'at'>): void {
  report(error, 'audit')
  for (const item of unwritten)
    console.error(JSON.stringify({ level: 'error', message: 'an audit record is not written', unwritten: item }))
  // Where a request is refused because earlier ones still wait, none is new.
  logMetric('AuditRefused', 'Count', [Math.max(1, unwritten.length)], about)
}

/** Types whose searches are refused until their lost index is made again; every minute, also when there are none. */
export const logLostIndices = (types: readonly string[], about: Pick<Told, 'stage' | 'at'>): void =>
  logMetric('IndexLost', 'Count', [types.length], { ...about, ...(types.length > 0 && { names: types }) })

/** How long ago the latest pulse was sent that has arrived; every minute, by who is no part of what follows the stream: ms. */
export const logHeartbeatAge = (age: number, about: Pick<Told, 'stage' | 'at'>): void => logMetric('PulseAge', 'Milliseconds', [age], about)

/** Logs the lag of the table's index in ms, every minute. */
export const logTableIndexLag = (lag: number, about: Pick<Told, 'stage' | 'at'>): void =>
  logMetric('TableIndexLag', 'Milliseconds', [lag], about)

export const METRIC_NAMESPACE = 'FHIR'

/** What this code measures; an alarm looks at each (lib/monitoring/watches.ts). */
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

/** An array of the format holds so many. */
const MOST_VALUES = 100

export type MetricUnit = 'Milliseconds' | 'Count'

/** `names`: of what they are about, beside them in the log. */
type Told = { readonly stage: string; readonly at: number; readonly names?: readonly string[] }

/** `at`: ms since 1970. https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html */
export function logMetric(name: MetricName, unit: MetricUnit, values: readonly number[], { stage, at, names }: Told): void {
  const metrics = { Namespace: METRIC_NAMESPACE, Dimensions: [['Stage']], Metrics: [{ Name: name, Unit: unit }] }
  const _aws = { Timestamp: at, CloudWatchMetrics: [metrics] }
  for (let from = 0; from < values.length; from += MOST_VALUES)
    console.log(JSON.stringify({ _aws, Stage: stage, [name]: values.slice(from, from + MOST_VALUES), ...(names && { names }) }))
}
