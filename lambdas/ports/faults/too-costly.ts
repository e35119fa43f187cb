import { MachineFault } from './machine-error.ts'

/** A search used up its budget: nothing was found out. */
export class SearchTooCostly extends MachineFault {
  override readonly fault = 'too-costly'
}

/** Groups that are counted. */
export const MAX_GROUPS = 65_535

/** A search has more groups than are counted. */
export class TooManyGroups extends MachineFault {
  override readonly fault = 'too-many-groups'
}
