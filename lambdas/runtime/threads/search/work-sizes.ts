/** Amounts of work that the index thread does at a time. */

/** Number of versions indexed between two checks for messages, which takes about 10 ms. */
export const SLICE = 128
/** Number of versions indexed between two checks for messages while the index is further behind than this. */
export const BULK = 256
/** Number of versions after which the serving index commits. With larger commits, fewer pages are written twice. */
export const COMMIT_EVERY = 10_000
/**
 * Number of versions after which the next index commits. A commit of this size takes a tenth of a second, in which no search is answered.
 */
export const COMMIT_NEXT_EVERY = 4_000
/** Milliseconds without indexing after which the index commits. */
export const COMMIT_IDLE = 200
