/**
 * Who goes on: a search that has taken long gives way to whoever came meanwhile, for most take little, and is begun again after them. What it
 * loses by that has an end, so that it comes to one too. Knows no clock.
 */

/** Milliseconds that a search takes whoever waits. */
export const MIN_SEARCH_MS = 250
/** Of the budget of a search: what it may lose before it is let run to its end. */
export const MAX_LOST_SHARE = 1 / 4

/** `ran`, `lost`: milliseconds of this attempt, and of those before; `budget`: what an attempt may take; `waiting`: others. */
export type SearchAttempt = { readonly ran: number; readonly lost: number; readonly budget: number; readonly waiting: number }

/** Each attempt may take as long as all before it. */
export const mustYield = ({ ran, lost, budget, waiting }: SearchAttempt): boolean =>
  waiting > 0 && ran > MIN_SEARCH_MS + lost && lost < budget * MAX_LOST_SHARE
