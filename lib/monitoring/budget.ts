/**
 * Budget for the costs of the account in a month. It only notifies the operator.
 * https://docs.aws.amazon.com/cost-management/latest/userguide/budgets-managing-costs.html
 */
import { CfnBudget } from 'aws-cdk-lib/aws-budgets'
import type { Construct } from 'constructs'

/** Percentages of the budget. A forecast can be wrong, so it notifies only above 100 %. */
const NOTIFICATIONS = { ACTUAL: 80, FORECASTED: 100 } as const

/** `dollars`: costs of a month. `email`: address that receives the notifications. */
export type BudgetProps = { readonly dollars: number; readonly email: string }

/** Creates the budget without a name. A changed address replaces the budget, which CloudFormation refuses for a named one. */
export const createBudget = (scope: Construct, { dollars, email }: BudgetProps): CfnBudget =>
  new CfnBudget(scope, 'Budget', {
    budget: { budgetType: 'COST', timeUnit: 'MONTHLY', budgetLimit: { amount: dollars, unit: 'USD' } },
    notificationsWithSubscribers: Object.entries(NOTIFICATIONS).map(([notificationType, threshold]) => ({
      notification: { notificationType, threshold, thresholdType: 'PERCENTAGE', comparisonOperator: 'GREATER_THAN' },
      subscribers: [{ subscriptionType: 'EMAIL', address: email }],
    })),
  })
