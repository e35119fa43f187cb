/** Lifetimes of the status, files and links of a job. Specification 4.5, 8. */
import type { Job } from './job.ts'

const DAY = 24 * 60 * 60 * 1000
/** Lifetime of a link to a file in milliseconds: 604,800 seconds. */
export const LINK_LIFETIME_MS = 7 * DAY

type Ended = Pick<Job, 'ended' | 'retrieved'>

/**
 * Returns when the status of an ended job expires, in milliseconds since 1970. Undefined: the job is in progress. `retentionDays`: setting.
 */
export const manifestExpiryOf = ({ ended }: Ended, retentionDays: number): number | undefined =>
  ended === undefined ? undefined : ended + retentionDays * DAY

/** Returns when the files of a job expire: not before the links of a returned manifest do. */
export function fileExpiryOf({ ended, retrieved }: Ended, retentionDays: number): number | undefined {
  if (ended === undefined) return undefined
  const linked = retrieved === undefined ? 0 : retrieved + LINK_LIFETIME_MS
  return Math.max(ended + retentionDays * DAY, Math.min(linked, ended + retentionDays * DAY + LINK_LIFETIME_MS))
}
