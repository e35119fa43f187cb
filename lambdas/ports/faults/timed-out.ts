import { MachineFault } from './machine-error.ts'

/** There was no more time for a request. What it had sent by then may be done. */
export class TimedOut extends MachineFault {
  override readonly fault = 'timed-out'
}
