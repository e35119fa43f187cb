/** Rules that start scheduled exports. https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-scheduled-rule-pattern.html */
import { Duration, Stack } from 'aws-cdk-lib'
import { EventField, type IRuleTarget, Rule, RuleTargetInput, Schedule } from 'aws-cdk-lib/aws-events'
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import type { Construct } from 'constructs'
import type { ScheduledExport, ScheduleEvent, WatchedSchedule } from '../../lambdas/export/schedules/schedules.ts'
import { DEFAULT_TENANT } from '../../lambdas/ports/store/tenants.ts'
import { type ExportSetting, latenessLimitOf } from '../settings/export-settings.ts'
import type { Settings } from '../settings/settings.ts'

/** Maximum time until an export that a restore ended is started again. */
const AGAIN = Duration.minutes(10)

/** Maximum targets of a rule. Regions allow 100 rules or more: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html */
const MOST_TARGETS = 5

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
  // The same event may arrive twice. Its time identifies the run.
  const startOf = (each: ExportSetting, only: Pick<ScheduleEvent, 'only'>): IRuleTarget =>
    callOf(starter, RuleTargetInput.fromObject({ schedule: scheduleOf(each, restored), time: EventField.time, ...only }))
  for (const each of exports) {
    new Rule(scope, `Export-${each.name}`, {
      description: `Begins the export ${each.name}`,
      schedule: Schedule.expression(each.schedule),
      targets: [startOf(each, {})],
    })
  }
  for (let i = 0; restored !== undefined && i < exports.length; i += MOST_TARGETS) {
    const some = exports.slice(i, i + MOST_TARGETS)
    new Rule(scope, `Again-${i}`, {
      description: `Begins exports again that a restore ended: ${some.map(({ name }) => name).join(', ')}`,
      schedule: Schedule.rate(AGAIN),
      targets: some.map((each) => startOf(each, { only: 'set-back' })),
    })
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

function scheduleOf(
  { schedule: _, late: __, bucketKey: ___, tenant = DEFAULT_TENANT, level = 'system', ...rest }: ExportSetting,
  restored: Settings['restored'],
): ScheduledExport {
  return { tenant, level, ...rest, ...(restored === undefined ? {} : { epoch: restored.epoch }) }
}

/** Returns a target that calls the function. Unlike the target of the CDK it adds no permission. */
const callOf = ({ functionArn: arn }: IFunction, input: RuleTargetInput, retries?: number): IRuleTarget => ({
  bind: () => ({ arn, input, ...(retries === undefined ? {} : { retryPolicy: { maximumRetryAttempts: retries } }) }),
})
