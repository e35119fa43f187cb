/** Repeats an operation until it succeeds, such as opening a store. */
import { setTimeout as wait } from 'node:timers/promises'

export type RetryOptions = {
  /** Ends the attempts when it is aborted. The promise is then rejected. */
  readonly signal: AbortSignal
  /** Called once, with the error of the first attempt if that fails. */
  readonly onFailure: (error: unknown) => void
  /** Called when an attempt succeeds after failed ones. */
  readonly onRecovery: () => void
  /** Milliseconds between two attempts. Absent: one second. */
  readonly pause?: number
}

const SECOND = 1_000

export async function retryUntilSuccess<Made>(
  attempt: () => Promise<Made>,
  { signal, onFailure, onRecovery, pause = SECOND }: RetryOptions,
): Promise<Made> {
  for (let failures = 0; ; failures++) {
    signal.throwIfAborted()
    try {
      const made = await attempt()
      if (failures > 0) onRecovery()
      return made
    } catch (error) {
      if (failures === 0) onFailure(error)
    }
    await wait(pause, undefined, { signal })
  }
}
