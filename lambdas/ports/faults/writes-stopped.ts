/** An operator has stopped all writes, for example during a point-in-time restore. Nothing was done. */
import { MachineFault } from './machine-error.ts'

export class WritesStopped extends MachineFault {
  override readonly fault = 'writes-stopped'
}
