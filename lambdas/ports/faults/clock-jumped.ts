/** The clock cannot be believed: nothing was stamped, and nothing was done. */
import { MachineError } from './machine-error.ts'

export class ClockJumped extends MachineError {
  override readonly fault = 'clock-jumped'
}
