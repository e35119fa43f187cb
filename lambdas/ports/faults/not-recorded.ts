import { MachineError } from './machine-error.ts'

/** Audit records cannot be written now, and without one nothing is answered. */
export class NotRecorded extends MachineError {
  override readonly fault = 'not-recorded'
}
