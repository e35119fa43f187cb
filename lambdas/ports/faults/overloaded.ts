import { MachineFault } from './machine-error.ts'

/** Too much work is waiting. Nothing was done; the caller may try again. */
export class Overloaded extends MachineFault {
  override readonly fault = 'overloaded'
}
