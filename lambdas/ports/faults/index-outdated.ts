import { MachineFault } from './machine-error.ts'

/** The documents that are asked are those of another release, which has other keys of what is asked by, or lack some of what was written: nothing was done. */
export class IndexOutdated extends MachineFault {
  override readonly fault = 'index-outdated'
}
