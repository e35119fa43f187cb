/** Lifetimes of the status, files and links of a job. Specification 4.5, 8. */
import type { Job } from './job.ts'

const DAY = 24 * 60 * 60 * 1000
/** Lifetime of a link to a file in milliseconds: 7 days. */
export const LINK_LIFETIME_MS = 7 * DAY

type Ended = Pick<Job, 'ended' | 'retrieved'>

/**
 * Returns when the status of an ended job expires, in milliseconds since 1970. Undefined: the job is in progress. `retentionDays`: days
 * from the end of the job.
 */
export const manifestExpiryOf = ({ ended }: Ended, retentionDays: number): number | undefined =>
  ended === undefined ? undefined : ended + retentionDays * DAY

/**
 * Returns when the files of a job expire, in milliseconds since 1970. Undefined: the job is in progress. The files outlive the status while
 * links of the last returned manifest are valid, but at most by LINK_LIFETIME_MS.
 */
export function fileExpiryOf({ ended, retrieved }: Ended, retentionDays: number): number | undefined {
  if (ended === undefined) return undefined
  const linked = retrieved === undefined ? 0 : retrieved + LINK_LIFETIME_MS
  return Math.max(ended + retentionDays * DAY, Math.min(linked, ended + retentionDays * DAY + LINK_LIFETIME_MS))
}
