/** The budget of a stage. */
import { fullDiff, ResourceImpact } from '@aws-cdk/cloudformation-diff'
import { describe, expect, it } from '@jest/globals'
import { anyOfType, resourcesOfType, synthesizeStages, type Tree } from './assembly.ts'
import { demo } from './stages.ts'

const { limited, again } = await synthesizeStages({
  limited: { budget: 60, alarmEmail: 'ops@example.org' },
  again: { budget: 90, alarmEmail: 'others@example.org' },
})

const TYPE = 'AWS::Budgets::Budget'
const notification = (NotificationType: string, Threshold: number) => ({
  Notification: { NotificationType, Threshold, ThresholdType: 'PERCENTAGE', ComparisonOperator: 'GREATER_THAN' },
  Subscribers: [{ SubscriptionType: 'EMAIL', Address: 'ops@example.org' }],
})

describe('the budget', () => {
  it('notifies the operator of 80 % of the costs, and of a forecast of all', () => {
    expect(Object.values(resourcesOfType(limited.operation, TYPE))).toEqual([
      {
        Budget: { BudgetType: 'COST', TimeUnit: 'MONTHLY', BudgetLimit: { Amount: 60, Unit: 'USD' } },
        NotificationsWithSubscribers: [notification('ACTUAL', 80), notification('FORECASTED', 100)],
      },
    ])
  })

  it('has no name, because CloudFormation replaces it when the address changes', () => {
    const [[id, { Budget }]] = Object.entries(resourcesOfType(limited.operation, TYPE)) as [[string, Tree]]
    const { resources } = fullDiff({ ...limited.operation }, { ...again.operation })
    expect([resources.get(id).changeImpact, Budget.BudgetName]).toEqual([ResourceImpact.WILL_REPLACE, undefined])
  })

  it('is absent by default', () => expect(anyOfType(demo.operation, TYPE)).toEqual({}))
})
