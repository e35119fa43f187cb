import { MachineFault } from './machine-error.ts'

/** More work is waiting than the machine takes on: nothing was done, the caller may try again. */
export class Overloaded extends MachineFault {
  override readonly fault = 'overloaded'
}
