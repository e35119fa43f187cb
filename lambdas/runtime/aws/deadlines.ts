/**
 * Deadlines of requests on AWS. A request is answered and recorded before Lambda stops its function. Lambda may freeze work that is left
 * and resume it with a later request: after the deadline such work sends no further calls.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Deadline } from '../../adapters/dynamodb/table-client.ts'
import { MachineFault } from '../../ports/faults.ts'

/** Part of the context that Lambda passes. https://docs.aws.amazon.com/lambda/latest/dg/nodejs-context.html */
export type LambdaContext = { readonly getRemainingTimeInMillis: () => number }

/**
 * Milliseconds reserved at the end of a function's time: for the response with its audit record, and for the last attempt to write that
 * record. The second lies within the first. It leaves time to log a failure.
 */
const FOR_ANSWER = 5_000
const FOR_LAST_TRY = 2_500
/**
 * Milliseconds before FOR_ANSWER, for Bundles: the least time in which an entry starts, and the time reserved for the response of the
 * Bundle.
 */
const FOR_ENTRY = 4_000
const FOR_BUNDLE = 1_000

const ends = new AsyncLocalStorage<number>()

/** Runs the work of a request, and everything it starts, with the deadline of its function. */
export const runWithLambdaDeadline = <T>(context: LambdaContext | undefined, work: () => Promise<T>): Promise<T> =>
  context === undefined ? work() : ends.run(Date.now() + context.getRemainingTimeInMillis(), work)

/** Returns a deadline that ends `before` milliseconds ahead of the function. Outside of requests it never ends. */
const ending = (before: number): Deadline => ({
  get end() {
    return (ends.getStore() ?? Number.POSITIVE_INFINITY) - before
  },
  now: () => Date.now(),
})

/** Deadline for the work of a request. */
export const WORK_DEADLINE = ending(FOR_ANSWER)
/** Deadline for writing its audit record. */
export const AUDIT_DEADLINE = ending(FOR_LAST_TRY)

/** Returns `answer` with a time limit: throws the fault `timed-out` if it takes longer than WORK_DEADLINE allows. */
export function withDeadline<Asked, Answer>(answer: (asked: Asked) => Promise<Answer>): (asked: Asked) => Promise<Answer> {
  return async (asked) => {
    const left = WORK_DEADLINE.end - Date.now()
    return left === Number.POSITIVE_INFINITY ? answer(asked) : within(left, () => answer(asked))
  }
}

/**
 * Runs an entry of a Bundle. Throws the fault `not-begun` if too little time is left to start it. Throws `timed-out` if it would take the
 * time needed to report the other entries.
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
