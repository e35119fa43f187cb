/**
 * Long work in steps that survives the process that started it.
 *
 * Guarantees: `start` is idempotent by name. A name has 1 to 80 characters of `[A-Za-z0-9_-]`; others throw RangeError. Input is plain JSON
 * without clinical content.
 */
export interface Workflow {
  start(name: string, input: Readonly<Record<string, unknown>>): Promise<void>
  /** Begins no further step; a running step may go on. Does nothing if no workflow has this name, or if it has ended. */
  stop(name: string): Promise<void>
  /** Whether the workflow was started and has not ended. If its process died, it has ended. */
  isRunning(name: string): Promise<boolean>
}
