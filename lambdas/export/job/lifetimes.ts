/** How long what a job left can be had. Specification 4.5, 8. */
import type { Job } from './job.ts'

const DAY = 24 * 60 * 60 * 1000
/** Of a link that was handed out, ms: 604,800 seconds. */
export const LINK_LIFETIME_MS = 7 * DAY

type Ended = Pick<Job, 'ended' | 'retrieved'>

/** Until when its manifest, or why it failed, is told: ms since 1970; undefined: it is under way. `retentionDays`: a setting. */
export const manifestExpiryOf = ({ ended }: Ended, retentionDays: number): number | undefined =>
  ended === undefined ? undefined : ended + retentionDays * DAY

/** Until when its files are there: for as long as the links of a manifest that was handed out work. */
export function fileExpiryOf({ ended, retrieved }: Ended, retentionDays: number): number | undefined {
  if (ended === undefined) return undefined
  const linked = retrieved === undefined ? 0 : retrieved + LINK_LIFETIME_MS
  return Math.max(ended + retentionDays * DAY, Math.min(linked, ended + retentionDays * DAY + LINK_LIFETIME_MS))
}
