/**
 * Operation stack: alarms, dashboard, budget, and the rules of scheduled exports. They are separate because a stack may have 500 resources.
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
 */
import { CrossStackReferences, ReferenceStrength, Stack } from 'aws-cdk-lib'
import type { Construct } from 'constructs'
import { createBudget } from '../monitoring/budget.ts'
import { Observability } from '../monitoring/observability.ts'
import { watchesOf } from '../monitoring/watches.ts'
import type { Settings } from '../settings/settings.ts'
import { accountOf } from './data-stack.ts'
import { scheduleExports } from './scheduled-exports.ts'
import type { ServiceStack } from './service-stack.ts'

export class OperationStack extends Stack {
  constructor(scope: Construct, id: string, settings: Settings, { alarmTopics, deployedNames, scheduleFunctions }: ServiceStack) {
    super(scope, id, { env: { region: settings.region, ...accountOf(settings) }, description: 'FHIR server: alarms and schedules' })
    // CloudFormation refuses to change an export that this stack imports. The service stack could then neither replace nor remove what is watched.
    CrossStackReferences.of(this).consume(ReferenceStrength.WEAK)
    new Observability(this, 'Watch', { watches: watchesOf(deployedNames), topics: alarmTopics })
    const { budget, alarmEmail } = settings
    if (budget !== undefined) createBudget(this, { dollars: budget, email: alarmEmail! })
    if (scheduleFunctions !== undefined) scheduleExports(this, settings, scheduleFunctions)
  }
}
