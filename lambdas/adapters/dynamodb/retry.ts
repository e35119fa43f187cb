/** Classifies errors of DynamoDB, and repeats calls after temporary ones. */
import { setTimeout as wait } from 'node:timers/promises'
import { isFault, MachineFault } from '../../ports/faults.ts'

/** Names of errors by which DynamoDB rejected the call. Nothing was done. */
const REFUSED = new Set([
  'ProvisionedThroughputExceededException',
  'ThrottlingException',
  'RequestLimitExceeded',
  'TransactionConflictException',
  'LimitExceededException',
])

/**
 * Rethrows the error of a failed read. An error with an unknown outcome becomes the fault `unavailable`, because a read changes nothing.
 */
export function throwUnanswered(error: unknown): never {
  throw error instanceof MachineFault || kindOf(error) === 'final'
    ? error
    : new MachineFault('unavailable', 'DynamoDB does not answer', { cause: error })
}

/** Names and codes of errors after which the call may or may not have taken effect. */
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
 * Repeats `work` while its failures may be temporary. `work` must be a read, or a write that recognizes its own effect. Throws the fault
 * `overloaded` if nothing was done: every attempt was rejected, or none was made. `isLate`: whether the deadline for another attempt has
 * passed.
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
  throw isKnown ? new MachineFault('overloaded', 'DynamoDB refused all attempts, or it was too late for one', { cause: last }) : last
}

/** Waits before the next attempt. The wait doubles with each, up to one second, and has a random part. */
export const pause = (attempt: number): Promise<void> => wait(Math.min(10 * 2 ** attempt, 1_000) * (0.25 + 0.75 * Math.random()))

function kindOf(error: unknown): 'refused' | 'unknown' | 'final' {
  const { name, code, $fault } = error as { readonly name?: string; readonly code?: string; readonly $fault?: string }
  if (isFault(error, 'refused') || REFUSED.has(name ?? '')) return 'refused'
  return UNKNOWN.has(name ?? '') || UNKNOWN.has(code ?? '') || $fault === 'server' ? 'unknown' : 'final'
}
