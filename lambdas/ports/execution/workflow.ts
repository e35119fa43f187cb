/**
 * Long work in steps that survives the process that started it.
 *
 * Guarantees: a second `start` with the same name starts nothing. A name has 1 to 80 characters of `[A-Za-z0-9_-]`; others throw
 * RangeError. The input must be plain JSON without clinical content.
 */
export interface Workflow {
  start(name: string, input: Readonly<Record<string, unknown>>): Promise<void>
  /**
   * Stops a workflow: it begins no further step, but a running step may continue. Does nothing if no workflow has this name, or if it has
   * ended.
   */
  stop(name: string): Promise<void>
  /** Whether the workflow was started and has not ended. A workflow whose process died has ended. */
  isRunning(name: string): Promise<boolean>
}
