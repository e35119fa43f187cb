/** Rules that start scheduled exports. https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-scheduled-rule-pattern.html */
import { Duration, Stack } from 'aws-cdk-lib'
import { EventField, type IRuleTarget, Rule, RuleTargetInput, Schedule } from 'aws-cdk-lib/aws-events'
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import type { Construct } from 'constructs'
import type { ScheduledExport, ScheduleEvent, WatchedSchedule } from '../../lambdas/export/schedules/schedules.ts'
import { DEFAULT_TENANT } from '../../lambdas/ports/store/tenants.ts'
import { latenessLimitOf } from '../settings/export-settings.ts'
import type { Settings } from '../settings/settings.ts'

/** Maximum time until an export that a restore ended is started again. */
const AGAIN = Duration.minutes(10)

/** `starter`: function that starts exports. `sweeper`: function that checks their results and copies their files. */
export type ScheduleFunctions = { readonly starter: IFunction; readonly sweeper: IFunction }

/**
 * Permits the rules of all stages to call the functions. A permission for each rule would exceed the 20 kB of a function's policy. The pattern
 * is short, because CloudFormation shortens the names of rules.
 */
export function allowScheduleRules({ starter, sweeper }: ScheduleFunctions): void {
  for (const each of [starter, sweeper]) {
    each.addPermission('ScheduleRules', {
      principal: new ServicePrincipal('events.amazonaws.com'),
      sourceArn: Stack.of(each).formatArn({ service: 'events', resource: 'rule', resourceName: 'fhir-*' }),
    })
  }
}

/** Creates the rules. The functions permit their calls (allowScheduleRules). */
export function scheduleExports(
  scope: Construct,
  { exports, restored }: Pick<Settings, 'exports' | 'restored'>,
  { starter, sweeper }: ScheduleFunctions,
): void {
  const epoch = restored === undefined ? {} : { epoch: restored.epoch }
  for (const { schedule: expression, late, bucketKey: _, tenant = DEFAULT_TENANT, level = 'system', ...rest } of exports) {
    const schedule: ScheduledExport = { tenant, level, ...rest, ...epoch }
    const calls = (id: string, description: string, when: Schedule, only: Pick<ScheduleEvent, 'only'>) =>
      new Rule(scope, `${id}-${rest.name}`, {
        description: `${description} ${rest.name}`,
        schedule: when,
        // The same event may arrive twice. Its time identifies the run.
        targets: [callOf(starter, RuleTargetInput.fromObject({ schedule, time: EventField.time, ...only }))],
      })
    calls('Export', 'Begins the export', Schedule.expression(expression), {})
    if (restored !== undefined)
      calls('Again', 'Begins again, where the store was set back meanwhile, the export', Schedule.rate(AGAIN), { only: 'set-back' })
  }
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
      targets: [callOf(sweeper, RuleTargetInput.fromObject({ sweep: name, schedules }), 0)],
    })
  sweep('schedules', 'Looks at what became of scheduled exports', 5)
  if (exports.some(({ bucket }) => bucket !== undefined)) sweep('copies', 'Copies files of scheduled exports', 1)
}

/** Returns a target that calls the function. Unlike the target of the CDK it adds no permission. */
const callOf = ({ functionArn: arn }: IFunction, input: RuleTargetInput, retries?: number): IRuleTarget => ({
  bind: () => ({ arn, input, ...(retries === undefined ? {} : { retryPolicy: { maximumRetryAttempts: retries } }) }),
})
