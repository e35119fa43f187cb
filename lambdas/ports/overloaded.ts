import { MachineError } from './machine-error.ts'

/** More work is waiting than the machine takes on: nothing was done, the caller may try again. `retryAfter`: in so many seconds, where that is known. */
export class Overloaded extends MachineError {
  override readonly fault = 'overloaded'
  readonly retryAfter: number | undefined

  constructor(message?: string, { retryAfter, ...options }: ErrorOptions & { readonly retryAfter?: number } = {}) {
    super(message, options)
    this.retryAfter = retryAfter
  }
}
