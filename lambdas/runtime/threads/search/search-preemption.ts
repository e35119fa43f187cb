/**
 * Preemption of searches. Most searches are short. So a long search yields to requests that arrived meanwhile, and later runs again from
 * its beginning. It stops yielding after it has lost some time, so that it ends eventually. Reads no clock.
 */

/** Minimum milliseconds of each attempt of a search before it yields. */
export const MIN_SEARCH_MS = 250
/** Share of a search's budget. A search that has lost this much time by yielding runs to its end. */
export const MAX_LOST_SHARE = 1 / 4

/**
 * Running attempt of a search. `ran`: its milliseconds. `lost`: milliseconds of earlier attempts. `budget`: maximum milliseconds of an
 * attempt. `waiting`: number of other requests.
 */
export type SearchAttempt = { readonly ran: number; readonly lost: number; readonly budget: number; readonly waiting: number }

/** Whether a search must yield to waiting requests. Each attempt runs longer than all earlier ones together, so few attempts are lost. */
export const mustYield = ({ ran, lost, budget, waiting }: SearchAttempt): boolean =>
  waiting > 0 && ran > MIN_SEARCH_MS + lost && lost < budget * MAX_LOST_SHARE
