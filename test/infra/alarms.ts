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
  const seen = periods.slice(-EvaluationPeriods)
  if (seen.length < EvaluationPeriods) throw new RangeError(`${EvaluationPeriods} periods are evaluated`)
  const judged = seen.map((values): boolean | undefined => {
    if (values.length > 0) return isBeyond(statisticOf(alarm)(values), Threshold)
    return { breaching: true, notBreaching: false }[TreatMissingData as string]
  })
  if (judged.every((each) => each === undefined)) return 'INSUFFICIENT_DATA'
  return judged.filter((each) => each === true).length >= DatapointsToAlarm ? 'ALARM' : 'OK'
}
