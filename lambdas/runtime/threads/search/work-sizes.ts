/** The sizes in which the thread of the index works. */

/** Versions indexed between two looks at the mailbox: about 10 ms. */
export const SLICE = 128
/** And when it is far behind. */
export const BULK = 256
/** Versions after which the index commits: the more, the fewer pages are written twice. */
export const COMMIT_EVERY = 10_000
/** And the next one, which has time: a commit takes a tenth of a second, in which nothing is answered. */
export const COMMIT_NEXT_EVERY = 4_000
/** Milliseconds without work after which the index commits. */
export const COMMIT_IDLE = 200
