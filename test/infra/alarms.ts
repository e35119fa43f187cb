/**
 * State of an alarm of a template, evaluated as CloudWatch does from the values of each period.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/AlarmThatSendsEmail.html#alarm-evaluation
 */
import type { Tree } from './assembly.ts'

/** Values that were written in one period. Without values the metric is missing there. */
export type MetricPeriod = readonly number[]
export type AlarmState = 'OK' | 'ALARM' | 'INSUFFICIENT_DATA'

const sum = (values: MetricPeriod): number => values.reduce((all, each) => all + each, 0)

const STATISTICS: Readonly<Record<string, (values: MetricPeriod) => number>> = {
  Sum: sum,
  Average: (values) => sum(values) / values.length,
  Maximum: (values) => Math.max(...values),
  Minimum: (values) => Math.min(...values),
  SampleCount: (values) => values.length,
}

/** Metric of an alarm, also if the alarm evaluates an expression about it. */
export function metricOf(alarm: Tree): Tree {
  if (alarm.Metrics === undefined) return alarm
  const { Metric, Period, Stat } = alarm.Metrics.find(({ Id }: Tree) => Id === 'm').MetricStat
  return { ...Metric, Period, Statistic: Stat }
}

/** Quota of the account in tests. */
export const QUOTA = 1_000

type Statistics = (value: number, count: number, previous: number | undefined) => number | undefined

/** Expressions of alarms. https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html */
const EXPRESSIONS: Readonly<Record<string, Statistics>> = {
  m: (value) => value,
  'DIFF(m)': (value, _, previous) => (previous === undefined ? undefined : value - previous),
  'm / SERVICE_QUOTA(m)': (value) => value / QUOTA,
  'IF(n >= 20, m, 0)': (value, count) => (count >= 20 ? value : 0),
}

/** Values of the alarm's metric or expression by period. Without values of the metric there is none. */
function valuesOf(alarm: Tree, periods: readonly MetricPeriod[]): readonly (number | undefined)[] {
  const expression = alarm.Metrics?.find(({ Expression }: Tree) => Expression !== undefined).Expression ?? 'm'
  const evaluate = EXPRESSIONS[expression]
  if (evaluate === undefined) throw new RangeError(`an expression that is not known here: ${expression}`)
  const statistic = statisticOf(metricOf(alarm))
  let previous: number | undefined
  return periods.map((values) => {
    if (values.length === 0) return undefined
    const [value, before] = [statistic(values), previous]
    previous = value
    return evaluate(value, values.length, before)
  })
}

function statisticOf({ Statistic, ExtendedStatistic }: Tree): (values: MetricPeriod) => number {
  const [, percent] = /^p(\d+)$/.exec(ExtendedStatistic ?? '') ?? []
  if (percent !== undefined) return (values) => values.toSorted((a, b) => a - b)[Math.ceil((Number(percent) / 100) * values.length) - 1]!
  const statistic = STATISTICS[Statistic]
  if (statistic === undefined) throw new RangeError(`a statistic that is not known here: ${Statistic} ${ExtendedStatistic}`)
  return statistic
}

const COMPARISONS: Readonly<Record<string, (value: number, threshold: number) => boolean>> = {
  GreaterThanThreshold: (value, threshold) => value > threshold,
  LessThanThreshold: (value, threshold) => value < threshold,
}

/** `alarm`: properties of the template. `periods`: the latest is last. */
export function alarmStateOf(alarm: Tree, periods: readonly MetricPeriod[]): AlarmState {
  const { Threshold, ComparisonOperator, EvaluationPeriods, DatapointsToAlarm = EvaluationPeriods, TreatMissingData = 'missing' } = alarm
  const isBeyond = COMPARISONS[ComparisonOperator]
  if (isBeyond === undefined) throw new RangeError(`a comparison that is not known here: ${ComparisonOperator}`)
  const seen = valuesOf(alarm, periods).slice(-EvaluationPeriods)
  if (seen.length < EvaluationPeriods) throw new RangeError(`${EvaluationPeriods} periods are evaluated`)
  const judged = seen.map((value): boolean | undefined => {
    if (value !== undefined) return isBeyond(value, Threshold)
    return { breaching: true, notBreaching: false }[TreatMissingData as string]
  })
  if (judged.every((each) => each === undefined)) return 'INSUFFICIENT_DATA'
  return judged.filter((each) => each === true).length >= DatapointsToAlarm ? 'ALARM' : 'OK'
}
