/** The clock cannot be believed: nothing was stamped, and nothing was done. */
import { MachineFault } from './machine-error.ts'

export class ClockJumped extends MachineFault {
  override readonly fault = 'clock-jumped'
}
