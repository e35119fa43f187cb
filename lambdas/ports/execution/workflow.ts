/**
 * Long work in steps. On AWS it survives the process that started it. In the embedded deployment it ends with that process, and the caller
 * starts it again.
 *
 * Guarantees: while a workflow runs, a second `start` with its name starts nothing. Use a new name for each attempt. A name has 1 to 80
 * characters of `[A-Za-z0-9_-]`; others throw RangeError. The input must be plain JSON without clinical content.
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
