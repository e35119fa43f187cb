import { MachineError } from './machine-error.ts'

/** The disk has no room for what was to be written. Nothing was changed. */
export class DiskFull extends MachineError {
  override readonly fault = 'disk-full'
}
