/**
 * Operation stack: alarms, dashboard, budget, backups, and the rules of scheduled exports. They are separate because a stack is limited to 500
 * resources.
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
 */
import { CrossStackReferences, ReferenceStrength, Stack } from 'aws-cdk-lib'
import type { Construct } from 'constructs'
import { createBudget } from '../monitoring/budget.ts'
import { Observability } from '../monitoring/observability.ts'
import { watchesOf } from '../monitoring/watches.ts'
import { suppressOperationStackFindings } from '../permissions/nag-suppressions.ts'
import type { Settings } from '../settings/settings.ts'
import { DataBackups } from './data-backups.ts'
import { accountOf } from './data-stack.ts'
import { scheduleExports } from './scheduled-exports.ts'
import type { ServiceStack } from './service-stack.ts'

export class OperationStack extends Stack {
  constructor(scope: Construct, id: string, settings: Settings, service: ServiceStack) {
    super(scope, id, { env: { region: settings.region, ...accountOf(settings) }, description: 'FHIR server: alarms and schedules' })
    const { alarmTopics, backupSources, deployedNames, scheduleFunctions } = service
    // CloudFormation refuses to change an export that this stack imports. The service stack could then neither replace nor remove what is watched.
    CrossStackReferences.of(this).consume(ReferenceStrength.WEAK)
    new Observability(this, 'Watch', { watches: watchesOf(deployedNames), topics: alarmTopics })
    const { alarmEmail, backup, budget } = settings
    if (budget !== undefined) createBudget(this, { dollars: budget, email: alarmEmail! })
    if (backup !== undefined) new DataBackups(this, 'Backups', backup, backupSources)
    if (scheduleFunctions !== undefined) scheduleExports(this, settings, scheduleFunctions)
    suppressOperationStackFindings(this)
  }
}
