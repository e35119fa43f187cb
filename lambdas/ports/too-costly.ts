/** A search used up its budget: nothing was found out. */
export class TooCostly extends Error {}
