/** How far instants and what is seen of them may lie apart. */

/** So long a stamp is sent, tries and all; what is stamped longer ago is not committed any more: ms. */
export const MAX_STAMP_AGE_MS = 10_000

/**
 * How far histories since an instant stay behind at least: longer than a stamp is sent, the last try takes, the index of the table shows it, and
 * clocks differ. So what they show later has a later instant than what they showed: ms.
 */
export const MIN_HISTORY_LAG_MS = 15_000

/** The next lag of the index of the table is at most so many times the greatest one of the last ten minutes. */
const MARGIN = 3

/** The greatest lag of the index of the table, in ms, that readers wait for. Above it they throw WritesHidden. */
export const MAX_INDEX_LAG_MS = 60_000

/**
 * Assumed lag of a type whose writes the index refuses, in ms. It is unknown. Scans wait for it; a history cannot wait between heads
 * and copies, and one key that lags alone hides a version from it whose copy is not shown yet.
 */
export const REFUSED_WRITES_LAG_MS = MAX_INDEX_LAG_MS

/** How long the index may take to show a write, in ms, after this lag was noted. */
export const visibilityDelay = (lag: number): number => MARGIN * lag

/** How far histories since an instant stay behind, in ms. A stamp is sent for a while, and only then does the index begin to lag. */
export const historyLag = (lag: number): number => Math.max(MIN_HISTORY_LAG_MS, MAX_STAMP_AGE_MS + visibilityDelay(lag))
