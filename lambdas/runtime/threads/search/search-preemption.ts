/**
 * Preemption of searches. Most searches are short. So a long search yields to requests that arrived meanwhile, and then runs again from its
 * beginning. The time it may lose is limited, so it ends eventually. Reads no clock.
 */

/** Milliseconds that a search runs without yielding. */
export const MIN_SEARCH_MS = 250
/** Maximum share of a search's budget that it may lose by yielding. Afterwards it runs to its end. */
export const MAX_LOST_SHARE = 1 / 4

/**
 * Attempt of a search. `ran`: its milliseconds. `lost`: milliseconds of earlier attempts. `budget`: maximum milliseconds of an attempt.
 * `waiting`: number of other requests.
 */
export type SearchAttempt = { readonly ran: number; readonly lost: number; readonly budget: number; readonly waiting: number }

/** Whether a search must yield. Each attempt may run longer than all earlier ones together. */
export const mustYield = ({ ran, lost, budget, waiting }: SearchAttempt): boolean =>
  waiting > 0 && ran > MIN_SEARCH_MS + lost && lost < budget * MAX_LOST_SHARE
