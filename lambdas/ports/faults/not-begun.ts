import { MachineFault } from './machine-error.ts'

/** What came before it took the time of its request: it was not begun. */
export class NotBegun extends MachineFault {
  override readonly fault = 'not-begun'
}
