import { MachineError } from './machine-error.ts'

/** A search used up its budget: nothing was found out. */
export class SearchTooCostly extends MachineError {
  override readonly fault = 'too-costly'
}

/** Groups that are counted. */
export const MOST_GROUPS = 65_535

/** A search has more groups than are counted. */
export class TooManyGroups extends MachineError {
  override readonly fault = 'too-many-groups'
}
