/** Watches for exports, and for tokens, signing keys and partners where the stage issues tokens. */
import { GUESSING } from '../../lambdas/runtime/aws/log.ts'
import {
  type DeployedNames,
  functionMetricOf,
  REFUSED_METRIC,
  stageMetricOf,
  TOKEN_ROUTE,
  type Watch,
  type WatchedMetric,
} from './watch.ts'

/** Returns metrics for executions of a state machine. */
export const executionsOf = (StateMachineArn: string, ...metricNames: readonly string[]): readonly WatchedMetric[] =>
  metricNames.map((metricName) => ({
    namespace: 'AWS/States',
    ...{ metricName, statistic: 'Sum', dimensions: { StateMachineArn } },
  }))

export function watchesOfExports(stage: string, { machine, sweeper }: DeployedNames['exports']): readonly Watch[] {
  return [
    { title: 'Exports', metrics: executionsOf(machine, 'ExecutionsStarted', 'ExecutionsSucceeded') },
    {
      title: 'Failed exports',
      // An execution that times out after two days needs no alarm: ExportAge reports its job, and another execution continues it.
      metrics: executionsOf(machine, 'ExecutionsFailed'),
      alarm: {
        name: 'ExportFailed',
        severity: 'ticket',
        above: 0,
        means:
          'an export failed after half an hour of attempts or more, or because one of its steps repeatedly lacks memory or time. Its client gets the error, and the server removes its files',
        todo: 'Look at the failed execution and the log of export-step. Fix the cause; then the client repeats its request',
      },
    },
    {
      title: 'Age of the oldest export in progress, ms',
      metrics: [stageMetricOf(stage, 'ExportAge', 'Maximum')],
      alarm: {
        name: 'ExportAge',
        severity: 'info',
        above: 43_200_000,
        means: 'an export has been in progress for twelve hours',
        todo: 'Its X-Progress shows whether it continues. Look at the log of export-step and at TableThrottles. For more writers, raise concurrency of export-step',
      },
    },
    {
      title: 'Errors of export-sweep',
      metrics: [functionMetricOf(sweeper, 'Errors', 'Sum')],
      alarm: {
        name: 'ExportSweep',
        severity: 'ticket',
        above: 0,
        periods: 3,
        means: 'exports without an execution do not continue, and expired files stay',
        todo: 'Look at the log of export-sweep. Nothing is lost; the bucket removes old files by itself',
      },
    },
  ]
}

export function watchesOfSchedules(stage: string, starter: string): readonly Watch[] {
  return [
    {
      title: 'Failed scheduled exports',
      metrics: [stageMetricOf(stage, 'ScheduledExportsFailed', 'Maximum'), functionMetricOf(starter, 'Errors', 'Sum')],
      alarm: {
        name: 'ScheduledExportFailed',
        severity: 'ticket',
        above: 0,
        means: 'the last run of a scheduled export failed, could not start, or its files cannot be copied',
        todo: 'The log of export-sweep names it, and says why files are not copied; the copy is retried every minute. The log of export-schedule says why it did not start, that of export-step why it failed. The next run continues from the last complete one',
      },
    },
    {
      title: 'Late scheduled exports',
      metrics: [stageMetricOf(stage, 'ScheduledExportsLate', 'Maximum')],
      alarm: {
        name: 'ScheduledExportLate',
        severity: 'ticket',
        above: 0,
        means: 'a scheduled export was not complete for two intervals, or for the hours of its setting late',
        todo: 'The log of export-sweep names it. Look at ExportAge, and check that its rule calls export-schedule',
      },
    },
  ]
}

export function watchesOfTokens(
  stage: string,
  api: DeployedNames['api'],
  { tender, hasPartners }: NonNullable<DeployedNames['tokens']>,
): readonly Watch[] {
  const dimensions = { ApiName: api.name, Resource: TOKEN_ROUTE, Method: 'POST', Stage: api.stage }
  return [
    {
      title: 'Errors of the token endpoint',
      metrics: [{ namespace: 'AWS/ApiGateway', metricName: '5XXError', statistic: 'Sum', dimensions }],
      alarm: {
        name: 'TokenErrors',
        severity: 'page',
        above: 0,
        periods: 2,
        means: 'the token endpoint fails, so clients get no tokens',
        todo: 'Look at the log of the function token: KMS or the state table rejects it. Issued tokens stay valid',
      },
    },
    {
      title: 'Errors of tend-keys',
      metrics: [functionMetricOf(tender, 'Errors', 'Sum')],
      alarm: {
        name: 'SigningKeys',
        severity: 'ticket',
        above: 0,
        means: 'signing keys could not be created or removed',
        todo: 'Look at the log of tend-keys. The existing keys sign tokens meanwhile; the item SIGNING_KEYS of the state table lists them',
      },
    },
    ...(hasPartners ? [guessingOf(stage)] : []),
  ]
}

const guessingOf = (stage: string): Watch => ({
  title: 'Refused requests (1), partners that guess at members (2)',
  metrics: [stageMetricOf(stage, REFUSED_METRIC, 'Maximum')],
  alarm: {
    name: 'MemberGuessing',
    severity: 'ticket',
    above: GUESSING - 1,
    means:
      'a partner guesses at members. It gets no match for a person or a card for 24 hours, or its matches are answered 429 for an hour',
    todo: 'Look for MemberGuessing in the logs of member-match and export-step: the line names the partner. `fhir partner matches` counts the outcomes of its members. Ask the partner for the reason, or remove it',
  },
})
