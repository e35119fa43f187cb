/** Rules that start scheduled exports. https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-scheduled-rule-pattern.html */
import { Duration } from 'aws-cdk-lib'
import { EventField, Rule, RuleTargetInput, Schedule } from 'aws-cdk-lib/aws-events'
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import type { Construct } from 'constructs'
import type { ScheduledExport, ScheduleEvent, WatchedSchedule } from '../../lambdas/export/schedules/schedules.ts'
import { DEFAULT_TENANT } from '../../lambdas/ports/store/tenants.ts'
import { latenessLimitOf } from '../settings/export-settings.ts'
import type { Settings } from '../settings/settings.ts'

/** Maximum time until an export that a restore ended is started again. */
const AGAIN = Duration.minutes(10)

/** Creates the rules. `starter`: function that starts exports. `sweeper`: function that checks their results and copies their files. */
export function scheduleExports(
  scope: Construct,
  { exports, restored }: Pick<Settings, 'exports' | 'restored'>,
  starter: IFunction,
  sweeper: IFunction,
): void {
  const epoch = restored === undefined ? {} : { epoch: restored.epoch }
  for (const { schedule: expression, late, bucketKey: _, tenant = DEFAULT_TENANT, level = 'system', ...rest } of exports) {
    const schedule: ScheduledExport = { tenant, level, ...rest, ...epoch }
    const calls = (id: string, description: string, when: Schedule, only: Pick<ScheduleEvent, 'only'>) =>
      new Rule(scope, `${id}-${rest.name}`, {
        description: `${description} ${rest.name}`,
        schedule: when,
        // The same event may arrive twice. Its time identifies the run.
        targets: [new LambdaFunction(starter, { event: RuleTargetInput.fromObject({ schedule, time: EventField.time, ...only }) })],
      })
    calls('Export', 'Begins the export', Schedule.expression(expression), {})
    if (restored !== undefined)
      calls('Again', 'Begins again, where the store was set back meanwhile, the export', Schedule.rate(AGAIN), { only: 'set-back' })
  }
  if (exports.length === 0) return
  const schedules = exports.map(
    (each): WatchedSchedule => ({
      name: each.name,
      late: latenessLimitOf(each),
      ...(each.bucket === undefined ? {} : { bucket: each.bucket }),
    }),
  )
  const sweep = (name: string, description: string, minutes: number): Rule =>
    new Rule(scope, `Sweep-${name}`, {
      description,
      schedule: Schedule.rate(Duration.minutes(minutes)),
      targets: [new LambdaFunction(sweeper, { event: RuleTargetInput.fromObject({ sweep: name, schedules }), retryAttempts: 0 })],
    })
  sweep('schedules', 'Looks at what became of scheduled exports', 5)
  if (exports.some(({ bucket }) => bucket !== undefined)) sweep('copies', 'Copies files of scheduled exports', 1)
}
