import { MachineFault } from './machine-error.ts'

/** Audit records cannot be written now, and the server answers nothing without one. */
export class NotRecorded extends MachineFault {
  override readonly fault = 'not-recorded'
}
