/** Tries what has to work in the end, such as opening what is kept, until it does. */
import { setTimeout as wait } from 'node:timers/promises'

export type RetryOptions = {
  /** Ends them: rejects with what the signal says. */
  readonly signal: AbortSignal
  /** Told once, of the first that fails. */
  readonly onFailure: (error: unknown) => void
  /** Told after that, when one succeeds. */
  readonly onRecovery: () => void
  /** ms between two attempts. */
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
