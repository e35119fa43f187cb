/** An operator has stopped all writes, as while a store is set back: nothing was done. */
import { MachineFault } from './machine-error.ts'

export class WritesStopped extends MachineFault {
  override readonly fault = 'writes-stopped'
}
