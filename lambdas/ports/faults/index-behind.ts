import { MachineError } from './machine-error.ts'

/** The search index did not catch up in time with what it was to have seen. `retryAfter`: seconds until it will have, where that is known. */
export class IndexBehind extends MachineError {
  override readonly fault = 'index-behind'
  readonly retryAfter: number | undefined

  constructor(retryAfter?: number) {
    super('the search index is behind')
    this.retryAfter = retryAfter
  }
}
