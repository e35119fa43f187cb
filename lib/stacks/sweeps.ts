/** Sweeps: regular calls of functions that maintain the stage and continue interrupted work. */
import { Duration } from 'aws-cdk-lib'
import { Rule, RuleTargetInput, Schedule } from 'aws-cdk-lib/aws-events'
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import type { Construct } from 'constructs'

/**
 * Sweeps of `settle-transactions` and their intervals. `transactions`: settles abandoned transactions and restarts rebuilds. `bodies`:
 * continues to remove large bodies that no version refers to. A pass over all bodies begins once a week.
 */
export const SWEEPS = { transactions: Duration.minutes(1), bodies: Duration.hours(1) } as const
/** Sweep of `indexer` and its interval. It sends a heartbeat if it is due, and checks that all indices exist. */
export const INDEX_SWEEP = { index: Duration.minutes(1) } as const
/**
 * Sweeps of `export-sweep` and their intervals. `jobs`: resumes abandoned jobs. `expired`: removes files that clients can no longer
 * download.
 */
export const EXPORT_SWEEPS = { jobs: Duration.minutes(1), expired: Duration.hours(1) } as const
/** Sweep of `export-step` and its interval. It deletes ended matches. The function may write Groups and Consents, as its steps do. */
export const MATCH_SWEEP = { matches: Duration.hours(1) } as const
/** Sweep of `tend-keys` and its interval. It maintains the signing keys. */
export const KEY_SWEEP = { keys: Duration.days(1) } as const

/** Creates a schedule for each sweep. `details`: fields that are added to the event of a sweep, by its name. */
export function scheduleSweeps(
  scope: Construct,
  sweeper: IFunction,
  sweeps: Readonly<Record<string, Duration>>,
  details: Readonly<Record<string, object>> = {},
): void {
  for (const [sweep, every] of Object.entries(sweeps)) {
    new Rule(scope, `Sweep-${sweep}`, {
      description: `Sweep: ${sweep}`,
      schedule: Schedule.rate(every),
      targets: [new LambdaFunction(sweeper, { event: RuleTargetInput.fromObject({ sweep, ...details[sweep] }), retryAttempts: 0 })],
    })
  }
}
