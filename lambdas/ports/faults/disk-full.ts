import { MachineError } from './machine-error.ts'

/** The disk has no room for the write. Nothing was changed. */
export class DiskFull extends MachineError {
  override readonly fault = 'disk-full'
}
