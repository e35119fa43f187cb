/** Maximum distances between a timestamp, its commit, and the moment readers see it. */

/** How long a timestamp may be sent, including retries, in milliseconds. A commit with an older timestamp fails. */
export const MAX_STAMP_AGE_MS = 10_000

/**
 * Minimum distance between now and the end of histories with `since`, in milliseconds. It covers the sending of a timestamp, the last
 * attempt, the lag of the index and clock differences. So a version that appears later has a later timestamp than all before it.
 */
export const MIN_HISTORY_LAG_MS = 15_000

/** Assumed maximum ratio between the next lag of the table's index and the greatest lag of the last ten minutes. */
const MARGIN = 3

/** Maximum lag of the table's index that readers wait for, in milliseconds. Above it they throw the fault `writes-hidden`. */
export const MAX_INDEX_LAG_MS = 60_000

/**
 * Assumed lag of a type whose writes the index rejects, in milliseconds. The real lag is unknown. Scans wait for it. A history cannot wait
 * between heads and copies, and would miss a version whose copy the index does not show yet.
 */
export const REFUSED_WRITES_LAG_MS = MAX_INDEX_LAG_MS

/** Returns how long the index may take to show a write after this lag was noted, in milliseconds. */
export const visibilityDelay = (lag: number): number => MARGIN * lag

/**
 * Returns the distance between now and the end of histories with `since`, in milliseconds. The index lag begins only after the timestamp
 * was sent.
 */
export const historyLag = (lag: number): number => Math.max(MIN_HISTORY_LAG_MS, MAX_STAMP_AGE_MS + visibilityDelay(lag))
