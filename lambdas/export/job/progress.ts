/** How far an export has come, as its writers last noted. */
import { isWholeTenant } from '../../access/rules.ts'
import type { Rows } from '../../ports/rows/rows.ts'
import { type Job, rangeRowsOf, segmentRowsOf } from './job.ts'

/** For X-Progress: begins with a percentage, as clients read it, and has less than 100 characters. How much there is is told to who may see all of it. */
export async function progressOf(rows: Rows, { id, total, access }: Job): Promise<string> {
  if (total === undefined) return '0% (preparing)'
  let seen = 0
  for (const shelf of [segmentRowsOf(id), rangeRowsOf(id)])
    for await (const { value } of rows.list<{ readonly seen?: number }>(shelf)) seen += value.seen ?? 0
  const percent = total === 0 ? MOST : Math.min(MOST, Math.floor((100 * seen) / total))
  return isWholeTenant(access, 'r') ? `${percent}% (${number(seen)} of about ${number(Math.max(seen, total))} looked at)` : `${percent}%`
}

/** Until its files are finished. */
const MOST = 99

const number = (count: number): string => count.toLocaleString('en')
