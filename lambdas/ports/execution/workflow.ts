/**
 * Long work in steps that outlives the process that began it.
 *
 * Guarantees: `start` is idempotent by name. A name is 1 to 80 characters of `[A-Za-z0-9_-]`. Input is plain JSON without clinical content.
 */
export interface Workflow {
  start(name: string, input: Readonly<Record<string, unknown>>): Promise<void>
  /** No further step is begun; one that runs may run on. Nothing where there is none of that name, or it has ended. */
  stop(name: string): Promise<void>
  /** Whether it was started, and has not ended: one whose process died has. */
  isRunning(name: string): Promise<boolean>
}
