/** Work that a person starts with a button or a form. */
import { useState } from 'preact/hooks'

export type Task = {
  /** Error of the latest run. Undefined while it runs, and if it succeeded. */
  readonly error: unknown
  readonly isBusy: boolean
  readonly run: (work: () => Promise<unknown>) => void
}

export function useTask(): Task {
  const [error, setError] = useState<unknown>(undefined)
  const [isBusy, setBusy] = useState(false)
  const run = (work: () => Promise<unknown>): void => {
    setBusy(true)
    setError(undefined)
    work()
      .catch(setError)
      .finally(() => setBusy(false))
  }
  return { error, isBusy, run }
}
