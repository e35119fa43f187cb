import { MachineFault } from './machine-error.ts'

/** A search used up its budget and has no result. */
export class SearchTooCostly extends MachineFault {
  override readonly fault = 'too-costly'
}

/** Maximum groups that a search counts. */
export const MAX_GROUPS = 65_535

/** A search has more groups than are counted. */
export class TooManyGroups extends MachineFault {
  override readonly fault = 'too-many-groups'
}
