import { MachineFault } from './machine-error.ts'

/** The index holds documents of another release, with other keys for the requested parameters, or lacks some versions. Nothing was done. */
export class IndexOutdated extends MachineFault {
  override readonly fault = 'index-outdated'
}
