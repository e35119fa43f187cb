/** A search used up its budget: nothing was found out. */
export class TooCostly extends Error {}

/** Groups that are counted. */
export const MOST_GROUPS = 65_535

/** A search has more groups than are counted. */
export class TooManyGroups extends Error {}
