import { MachineError } from './machine-error.ts'

/** What is asked does not answer: nothing was done, the caller may try again. */
export class Unavailable extends MachineError {
  override readonly fault = 'unavailable'
}
