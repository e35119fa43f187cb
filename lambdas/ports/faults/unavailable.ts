import { MachineFault } from './machine-error.ts'

/** A backing service does not respond. Nothing was done; the caller may try again. */
export class Unavailable extends MachineFault {
  override readonly fault = 'unavailable'
}
