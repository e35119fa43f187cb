/**
 * Long work in steps that outlives the process that began it.
 *
 * Guarantees: `start` is idempotent by name. A name is 1 to 80 characters of `[A-Za-z0-9_-]`. Input is plain JSON without clinical content.
 */
export interface Workflow {
  start(name: string, input: Readonly<Record<string, unknown>>): Promise<void>
}
