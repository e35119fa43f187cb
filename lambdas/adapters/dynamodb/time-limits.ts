/** How far instants and what is seen of them may lie apart. */

/** So long a stamp is sent, tries and all; what is stamped longer ago is not committed any more: ms. */
export const STAMP_TIME = 10_000

/**
 * How far histories since an instant stay behind: longer than a stamp is sent, the last try takes, the index of the table shows it, and clocks
 * differ. So what they show later has a later instant than what they showed: ms.
 */
export const LAG = 15_000
