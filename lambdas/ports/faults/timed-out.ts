import { MachineFault } from './machine-error.ts'

/** The time of a request is over. Operations that it had sent by then may have been done. */
export class TimedOut extends MachineFault {
  override readonly fault = 'timed-out'
}
