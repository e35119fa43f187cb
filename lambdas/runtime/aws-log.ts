/** What functions print: one line of JSON each, for CloudWatch. Nothing of what a request or a resource holds. */

/** Messages may tell of content, so an error is told by its kind and where it was thrown. */
export function report(error: unknown, requestId: string): void {
  const {
    name = typeof error,
    code,
    stack = '',
  } = (error ?? {}) as { readonly name?: string; readonly code?: string; readonly stack?: string }
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line))
  console.error(
    JSON.stringify({ level: 'error', requestId, name, ...(code === undefined ? {} : { code }), at: frames.map((line) => line.trim()) }),
  )
}

const NAMESPACE = 'FHIR'

export type Unit = 'Milliseconds' | 'Count'

/** Told in the embedded metric format. https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html */
export function metric(name: string, unit: Unit, values: readonly number[], at: number): void {
  if (values.length === 0) return
  const _aws = { Timestamp: at, CloudWatchMetrics: [{ Namespace: NAMESPACE, Dimensions: [[]], Metrics: [{ Name: name, Unit: unit }] }] }
  // An array holds at most 100 values.
  console.log(JSON.stringify({ _aws, [name]: values.slice(-100) }))
}
