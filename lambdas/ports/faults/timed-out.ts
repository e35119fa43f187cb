import { MachineError } from './machine-error.ts'

/** There was no more time for a request. What it had sent by then may be done. */
export class TimedOut extends MachineError {
  override readonly fault = 'timed-out'
}
