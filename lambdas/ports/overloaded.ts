/** More work is waiting than the machine takes on: nothing was done, the caller may try again. */
export class Overloaded extends Error {}
