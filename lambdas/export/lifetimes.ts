/** How long what a job left can be had. Specification 4.5, 8. */
import type { Job } from './job.ts'

const DAY = 24 * 60 * 60 * 1000
/** Days a link that was handed out works. */
const LINK = 7

type Ended = Pick<Job, 'ended' | 'retrieved'>

/** Until when its manifest, or why it failed, is told: ms since 1970; undefined: it is under way. `retentionDays`: a setting. */
export const manifestEnds = ({ ended }: Ended, retentionDays: number): number | undefined =>
  ended === undefined ? undefined : ended + retentionDays * DAY

/** Until when its files are there: for as long as the links of a manifest that was handed out work. */
export function filesEnd({ ended, retrieved }: Ended, retentionDays: number): number | undefined {
  if (ended === undefined) return undefined
  const linked = retrieved === undefined ? 0 : retrieved + LINK * DAY
  return Math.max(ended + retentionDays * DAY, Math.min(linked, ended + (retentionDays + LINK) * DAY))
}
