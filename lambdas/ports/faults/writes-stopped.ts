/** An operator has stopped all writes, as while a store is set back: nothing was done. */
import { MachineError } from './machine-error.ts'

export class WritesStopped extends MachineError {
  override readonly fault = 'writes-stopped'
}
