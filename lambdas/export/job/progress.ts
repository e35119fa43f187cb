/** Progress of a job, from the last checkpoints of its writers. */
import { isWholeTenant } from '../../access/rules.ts'
import type { Rows } from '../../ports/rows/rows.ts'
import { type Job, rangeRowsOf, segmentRowsOf } from './job.ts'

/**
 * Returns the text for X-Progress: less than 100 characters, with a leading percentage that clients can parse. It contains counts only if
 * the token may read the whole tenant.
 */
export async function progressOf(rows: Rows, { id, total, access }: Pick<Job, 'id' | 'total' | 'access'>): Promise<string> {
  if (total === undefined) return '0% (preparing)'
  let seen = 0
  for (const rowOwner of [segmentRowsOf(id), rangeRowsOf(id)])
    for await (const { value } of rows.list<{ readonly seen?: number }>(rowOwner)) seen += value.seen ?? 0
  const percent = total === 0 ? MAX_PERCENT : Math.min(MAX_PERCENT, Math.floor((100 * seen) / total))
  return isWholeTenant(access, 'r') ? `${percent}% (${number(seen)} of about ${number(Math.max(seen, total))} looked at)` : `${percent}%`
}

/** Maximum percentage before the files are finished. */
const MAX_PERCENT = 99

const number = (count: number): string => count.toLocaleString('en')
