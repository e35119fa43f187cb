import { MachineFault } from './machine-error.ts'

/** The disk has no space for the write. Nothing was changed. */
export class DiskFull extends MachineFault {
  override readonly fault = 'disk-full'
}
