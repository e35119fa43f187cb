import { MachineFault } from './machine-error.ts'

/** Audit records cannot be written now, and without one nothing is answered. */
export class NotRecorded extends MachineFault {
  override readonly fault = 'not-recorded'
}
