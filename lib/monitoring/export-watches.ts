/** Watches for exports, and for tokens and signing keys where the stage issues tokens. */
import { type DeployedNames, stageMetricOf, TOKEN_ROUTE, type Watch, type WatchedMetric } from './watch.ts'

/** Returns the metrics for executions that failed or timed out. */
export const failedExecutionsOf = (StateMachineArn: string): readonly WatchedMetric[] =>
  ['ExecutionsFailed', 'ExecutionsTimedOut'].map((metricName) => ({
    namespace: 'AWS/States',
    ...{ metricName, statistic: 'Sum', dimensions: { StateMachineArn } },
  }))

export function watchesOfExports(stage: string, { machine, sweeper }: DeployedNames['exports']): readonly Watch[] {
  const machineMetric = (metricName: string): WatchedMetric => ({
    namespace: 'AWS/States',
    metricName,
    statistic: 'Sum',
    dimensions: { StateMachineArn: machine },
  })
  return [
    { title: 'Exports', metrics: [machineMetric('ExecutionsStarted'), machineMetric('ExecutionsSucceeded')] },
    {
      title: 'Exports that failed',
      metrics: failedExecutionsOf(machine),
      alarm: {
        name: 'ExportFailed',
        above: 0,
        means:
          'an export was given up after half an hour of attempts or more, or because a step of it has too little memory or time each time; its client is told so, and its files are removed. Or an execution was ended after two days: another goes on with the job',
        todo: 'Look at the failed execution and the log of export-step. Once the cause is mended the client asks for it again',
      },
    },
    {
      title: 'Age of the oldest export under way, ms',
      metrics: [stageMetricOf(stage, 'ExportAge', 'Maximum')],
      alarm: {
        name: 'ExportAge',
        above: 43_200_000,
        means: 'an export is under way for twelve hours',
        todo: 'Its X-Progress tells whether it goes on. Look at the log of export-step and at TableThrottles; more writers: concurrency of export-step',
      },
    },
    {
      title: 'Exports nobody looks after',
      metrics: [{ namespace: 'AWS/Lambda', metricName: 'Errors', statistic: 'Sum', dimensions: { FunctionName: sweeper } }],
      alarm: {
        name: 'ExportSweep',
        above: 0,
        periods: 3,
        means: 'exports that lost their execution are not begun again, files that expired are not removed',
        todo: 'Look at the log of export-sweep; nothing is lost, and the bucket removes old files by itself',
      },
    },
  ]
}

export function watchesOfSchedules(stage: string, starter: string): readonly Watch[] {
  const errors: WatchedMetric = { namespace: 'AWS/Lambda', metricName: 'Errors', statistic: 'Sum', dimensions: { FunctionName: starter } }
  return [
    {
      title: 'Scheduled exports that failed',
      metrics: [stageMetricOf(stage, 'ScheduledExportsFailed', 'Maximum'), errors],
      alarm: {
        name: 'ScheduledExportFailed',
        above: 0,
        means: 'the last run of a scheduled export failed, or could not be begun, or its files cannot be copied',
        todo: 'The log of export-sweep names it; that of export-schedule says why it was not begun, that of export-step why it failed, that of export-sweep why files are not copied, which is tried every minute. The next run goes on from the last that was complete',
      },
    },
    {
      title: 'Scheduled exports that are late',
      metrics: [stageMetricOf(stage, 'ScheduledExportsLate', 'Maximum')],
      alarm: {
        name: 'ScheduledExportLate',
        above: 0,
        means: 'a scheduled export has not been complete for twice its interval, or the hours its setting late says',
        todo: 'The log of export-sweep names it. Look at ExportAge, and whether its rule calls export-schedule',
      },
    },
  ]
}

export function watchesOfTokens(api: DeployedNames['api'], { tender }: NonNullable<DeployedNames['tokens']>): readonly Watch[] {
  const dimensions = { ApiName: api.name, Resource: TOKEN_ROUTE, Method: 'POST', Stage: api.stage }
  return [
    {
      title: 'Tokens that could not be given',
      metrics: [{ namespace: 'AWS/ApiGateway', metricName: '5XXError', statistic: 'Sum', dimensions }],
      alarm: {
        name: 'TokenErrors',
        above: 0,
        periods: 2,
        means: 'clients that may have tokens get none',
        todo: 'Look at the log of the function token: KMS or the table of state refuses it. Tokens that were given go on counting',
      },
    },
    {
      title: 'Signing keys that were not tended',
      metrics: [{ namespace: 'AWS/Lambda', metricName: 'Errors', statistic: 'Sum', dimensions: { FunctionName: tender } }],
      alarm: {
        name: 'SigningKeys',
        above: 0,
        means: 'signing keys could not be made or removed',
        todo: 'Look at the log of tend-keys; tokens are signed with the keys there are. The list of them is the item SIGNING_KEYS of the table of state',
      },
    },
  ]
}
