/**
 * A failure of the job that a retry cannot fix. Damage to the store also fails the job. Every other error of a step is a machine fault, and
 * the step is retried.
 */
export class ExportFault extends Error {
  /** Reason for the client, without data of resources. */
  readonly reason: string

  constructor(reason: string) {
    super(reason)
    this.reason = reason
  }
}
