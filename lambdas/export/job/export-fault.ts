/** Why a job cannot be done, now or later. Everything else that is thrown in a step is a broken machine, and is tried again. */
export class ExportFault extends Error {
  /** For the client, without content. */
  readonly reason: string

  constructor(reason: string) {
    super(reason)
    this.reason = reason
  }
}
