/** Amounts of work of the index thread. */

/** Versions indexed between two looks at the messages: about 10 ms. */
export const SLICE = 128
/** Versions indexed between two looks while the index is far behind. */
export const BULK = 256
/** Versions after which the index commits. Larger commits write fewer pages twice. */
export const COMMIT_EVERY = 10_000
/** Versions after which the next index commits. It has time: a commit takes a tenth of a second, in which no search is answered. */
export const COMMIT_NEXT_EVERY = 4_000
/** Milliseconds without work after which the index commits. */
export const COMMIT_IDLE = 200
