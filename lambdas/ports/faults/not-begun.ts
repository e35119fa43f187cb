import { MachineFault } from './machine-error.ts'

/** Earlier work took the time of the request: this part was not begun. */
export class NotBegun extends MachineFault {
  override readonly fault = 'not-begun'
}
