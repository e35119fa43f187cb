import { MachineFault } from './machine-error.ts'

/** What is asked does not answer: nothing was done, the caller may try again. */
export class Unavailable extends MachineFault {
  override readonly fault = 'unavailable'
}
