/** What one slice of a range has at hand. */
import { type Job, rangeRowsOf } from '../job/job.ts'
import { JobWatch } from '../job/job-watch.ts'
import { selectionOf } from '../select/job-selection.ts'
import type { Selection } from '../select/selection.ts'
import type { ExportParts } from '../step-types.ts'
import { storeCheckpoint } from '../write/checkpoint.ts'
import type { Range } from './range.ts'

export type RangeSlice = {
  readonly parts: ExportParts
  readonly job: Job
  readonly selection: Selection
  readonly watch: JobWatch
  /** Of `elapsed`. By then it leaves the rest to the next slice. */
  readonly until: number
  /** See storeCheckpoint. */
  readonly keep: (before: Range, change: Partial<Range>) => Promise<Range | undefined>
}

export const rangeSliceOf = async (parts: ExportParts, job: Job, name: string): Promise<RangeSlice> => ({
  ...{ parts, job, watch: new JobWatch(parts, job), until: parts.elapsed() + parts.budget },
  selection: await selectionOf(parts, job),
  keep: (before, change) => storeCheckpoint(parts.rows, [rangeRowsOf(job.id), name], before, change),
})
