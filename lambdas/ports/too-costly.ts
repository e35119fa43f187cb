/** A search used up its budget: nothing was found out. */
export class TooCostly extends Error {}

/** A search has more groups than are counted. */
export class TooManyGroups extends Error {}
