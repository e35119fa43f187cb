/** Which failures pass, and how long to wait for it. */
import { setTimeout as wait } from 'node:timers/promises'
import { MachineFault } from '../../ports/faults/machine-error.ts'
import { Overloaded } from '../../ports/faults/overloaded.ts'

/** Nothing was done. */
const REFUSED = new Set([
  'ProvisionedThroughputExceededException',
  'ThrottlingException',
  'RequestLimitExceeded',
  'TransactionConflictException',
  'LimitExceededException',
])

/** As those: nothing was done, and the next attempt may be. */
export class RefusedCall extends MachineFault {
  override readonly fault = 'refused'
}

/** A reading to which nobody answered. */
export class UnansweredRead extends MachineFault {
  override readonly fault = 'unavailable'
}

/** Of a reading that failed: nothing was done. */
export function throwUnanswered(error: unknown): never {
  throw error instanceof MachineFault || kindOf(error) === 'final'
    ? error
    : new UnansweredRead('DynamoDB does not answer', { cause: error })
}

/** It may have been done or not. */
const UNKNOWN = new Set([
  'AbortError',
  'TimeoutError',
  'RequestTimeout',
  'InternalServerError',
  'InternalFailure',
  'ServiceUnavailable',
  'TransactionInProgressException',
  'ECONNRESET',
  'ECONNREFUSED',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
])

/**
 * Again, while it may help. Only for what may be repeated: reads, and writes that know their own effect. Overloaded: refused to the end,
 * and nothing was done. `isLate`: it may not be sent any more.
 */
export async function withRetries<T>(attempts: number, work: () => Promise<T>, isLate: () => boolean = () => false): Promise<T> {
  let isKnown = true
  let last: unknown
  for (let attempt = 1; attempt <= attempts && !isLate(); attempt++) {
    try {
      return await work()
    } catch (error) {
      const kind = kindOf(error)
      if (kind === 'final') throw error
      isKnown &&= kind === 'refused'
      last = error
      if (attempt < attempts) await pause(attempt)
    }
  }
  throw isKnown ? new Overloaded('DynamoDB refused all attempts, or it was too late for one', { cause: last }) : last
}

/** Longer from attempt to attempt, and never the same for two: ms. */
export const pause = (attempt: number): Promise<void> => wait(Math.min(10 * 2 ** attempt, 1_000) * (0.25 + 0.75 * Math.random()))

function kindOf(error: unknown): 'refused' | 'unknown' | 'final' {
  const { name, code, $fault } = error as { readonly name?: string; readonly code?: string; readonly $fault?: string }
  if (error instanceof RefusedCall || REFUSED.has(name ?? '')) return 'refused'
  return UNKNOWN.has(name ?? '') || UNKNOWN.has(code ?? '') || $fault === 'server' ? 'unknown' : 'final'
}
