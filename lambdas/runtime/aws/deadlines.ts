/**
 * Deadlines of requests on AWS. Each request is answered and recorded before Lambda stops its function. Lambda may freeze unfinished work
 * and resume it with a later request. After its deadline such work sends no further calls to DynamoDB.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Deadline } from '../../adapters/dynamodb/table-client.ts'
import { MachineFault } from '../../ports/faults.ts'

/** Part of the context that Lambda passes to a handler. https://docs.aws.amazon.com/lambda/latest/dg/nodejs-context.html */
export type LambdaContext = { readonly getRemainingTimeInMillis: () => number }

/** Milliseconds before the timeout of the function at which work ends. They are reserved for the response and its audit record. */
const FOR_ANSWER = 5_000
/**
 * Milliseconds before the timeout of the function at which no further attempt to write the audit record starts. The rest is for the last
 * attempt, and to log its failure.
 */
const FOR_LAST_TRY = 2_500
/** Minimum milliseconds of working time that must be left to start an entry of a Bundle. */
const FOR_ENTRY = 4_000
/** Milliseconds of working time reserved for the response of a Bundle. */
const FOR_BUNDLE = 1_000

const ends = new AsyncLocalStorage<number>()

/** Runs the work of a request, and everything that it starts, with the deadline of the Lambda function. */
export const runWithLambdaDeadline = <T>(context: LambdaContext | undefined, work: () => Promise<T>): Promise<T> =>
  context === undefined ? work() : ends.run(Date.now() + context.getRemainingTimeInMillis(), work)

/** Returns a deadline `before` milliseconds ahead of the function's timeout. Outside of requests the deadline is never reached. */
const ending = (before: number): Deadline => ({
  get end() {
    return (ends.getStore() ?? Number.POSITIVE_INFINITY) - before
  },
  now: () => Date.now(),
})

/** Deadline for the work of a request. After it only the audit log sends calls to DynamoDB, until AUDIT_DEADLINE. */
export const WORK_DEADLINE = ending(FOR_ANSWER)
/** Deadline for attempts to write the audit record of a request. */
export const AUDIT_DEADLINE = ending(FOR_LAST_TRY)

/** Limits the time of `answer`: throws the fault `timed-out` if it does not end before WORK_DEADLINE. */
export function withDeadline<Asked, Answer>(answer: (asked: Asked) => Promise<Answer>): (asked: Asked) => Promise<Answer> {
  return async (asked) => {
    const left = WORK_DEADLINE.end - Date.now()
    return left === Number.POSITIVE_INFINITY ? answer(asked) : within(left, () => answer(asked))
  }
}

/**
 * Runs an entry of a Bundle. Throws the fault `not-begun` if less than FOR_ENTRY is left. Throws `timed-out` if the entry reaches the time
 * that the response of the Bundle needs.
 */
export async function withEntryDeadline<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  const left = WORK_DEADLINE.end - Date.now()
  if (left === Number.POSITIVE_INFINITY) return work()
  if (left < FOR_ENTRY) throw new MachineFault('not-begun', 'the entries before took the time of the request')
  return within(left - FOR_BUNDLE, work)
}

async function within<Answer>(ms: number, work: () => Promise<Answer>): Promise<Answer> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new MachineFault('timed-out', 'a request takes longer than its function has time')), ms)
  try {
    return await Promise.race([work(), late])
  } finally {
    clearTimeout(timer)
  }
}
