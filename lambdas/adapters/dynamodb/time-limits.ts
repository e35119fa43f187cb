/** Time limits between a timestamp, its commit, and the moment at which readers see it. */

/** Maximum age of a timestamp when its commit is sent, including retries, in milliseconds. A commit with an older timestamp fails. */
export const MAX_STAMP_AGE_MS = 10_000

/**
 * Minimum distance between now and the end of histories with `since`, in milliseconds. It covers MAX_STAMP_AGE_MS, the last attempt, the
 * index lag and clock differences. So no version appears later with a timestamp that such a history has passed.
 */
export const MIN_HISTORY_LAG_MS = 15_000

/** Assumed maximum factor by which the next index lag exceeds the greatest lag of the last ten minutes. */
const MARGIN = 3

/** Maximum index lag that scans wait for, in milliseconds. Above it they throw the fault `writes-hidden`. */
export const MAX_INDEX_LAG_MS = 60_000

/**
 * Assumed lag of a type whose writes the index throttles, in milliseconds, because the real lag is unknown. Scans wait for it. A history
 * with `since` throws `writes-hidden` instead: it cannot wait between heads and copies, and would miss a version whose copy the index does
 * not show yet.
 */
export const REFUSED_WRITES_LAG_MS = MAX_INDEX_LAG_MS

/** Returns how long the index may take from now to show all earlier writes, in milliseconds, if it lagged by `lag`. */
export const visibilityDelay = (lag: number): number => MARGIN * lag

/**
 * Returns the distance between now and the end of histories with `since`, in milliseconds. It adds the index delay to MAX_STAMP_AGE_MS,
 * because the lag begins only when a write is sent.
 */
export const historyLag = (lag: number): number => Math.max(MIN_HISTORY_LAG_MS, MAX_STAMP_AGE_MS + visibilityDelay(lag))
