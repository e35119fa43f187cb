/**
 * The time of a request on AWS: it is answered, and recorded, before Lambda ends its function. What is left of it then, and goes on when the
 * process is woken for another request, sends nothing any more.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Deadline } from '../../adapters/dynamodb/table-client.ts'
import { NotBegun } from '../../ports/faults/not-begun.ts'
import { TimedOut } from '../../ports/faults/timed-out.ts'

/** As Lambda gives it. https://docs.aws.amazon.com/lambda/latest/dg/nodejs-context.html */
export type LambdaContext = { readonly getRemainingTimeInMillis: () => number }

/** Of the time of a function, ms: the last is for the answer and its record; and of that for a record's last try, and for telling that it failed. */
const FOR_ANSWER = 5_000
const FOR_LAST_TRY = 2_500
/** And before that, of a Bundle: an entry that is begun has as much at the least, and when the last is left, its answer is written. */
const FOR_ENTRY = 4_000
const FOR_BUNDLE = 1_000

const ends = new AsyncLocalStorage<number>()

/** Work for a request, with whatever it begins. */
export const runWithLambdaDeadline = <T>(context: LambdaContext | undefined, work: () => Promise<T>): Promise<T> =>
  context === undefined ? work() : ends.run(Date.now() + context.getRemainingTimeInMillis(), work)

/** Outside of requests: never. */
const ending = (before: number): Deadline => ({
  get end() {
    return (ends.getStore() ?? Number.POSITIVE_INFINITY) - before
  },
  now: () => Date.now(),
})

/** Of what is done for a request. */
export const WORK_DEADLINE = ending(FOR_ANSWER)
/** Of what is written down of it. */
export const AUDIT_DEADLINE = ending(FOR_LAST_TRY)

/** As `answer`; TimedOut where that takes longer than a request may. */
export function withDeadline<Asked, Answer>(answer: (asked: Asked) => Promise<Answer>): (asked: Asked) => Promise<Answer> {
  return async (asked) => {
    const left = WORK_DEADLINE.end - Date.now()
    return left === Number.POSITIVE_INFINITY ? answer(asked) : within(left, () => answer(asked))
  }
}

/** What an entry of a Bundle does. NotBegun where too little time is left for it, TimedOut where it takes so long that nothing could be told of the others. */
export async function withEntryDeadline<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  const left = WORK_DEADLINE.end - Date.now()
  if (left === Number.POSITIVE_INFINITY) return work()
  if (left < FOR_ENTRY) throw new NotBegun('the entries before took the time of the request')
  return within(left - FOR_BUNDLE, work)
}

async function within<Answer>(ms: number, work: () => Promise<Answer>): Promise<Answer> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new TimedOut('a request takes longer than its function has time')), ms)
  try {
    return await Promise.race([work(), late])
  } finally {
    clearTimeout(timer)
  }
}
