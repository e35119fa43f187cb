/** Context of one slice of a range. */

import { storeCheckpoint } from '../job/checkpoint.ts'
import { type Job, rangeRowsOf } from '../job/job.ts'
import { JobWatch } from '../job/job-watch.ts'
import { selectionOf } from '../select/job-selection.ts'
import type { Selection } from '../select/selection.ts'
import type { ExportParts } from '../step-types.ts'
import type { Range } from './range.ts'

export type RangeSlice = {
  readonly parts: ExportParts
  readonly job: Job
  readonly selection: Selection
  readonly watch: JobWatch
  /** Value of `parts.elapsed()` from which the slice stores a checkpoint and ends. The workflow then starts the next slice. */
  readonly until: number
  /** Stores a checkpoint of the range and returns the new row. Returns undefined if another writer stored one first. */
  readonly keep: (before: Range, change: Partial<Range>) => Promise<Range | undefined>
}

export const rangeSliceOf = async (parts: ExportParts, job: Job, name: string): Promise<RangeSlice> => ({
  ...{ parts, job, watch: new JobWatch(parts, job), until: parts.elapsed() + parts.budget },
  selection: await selectionOf(parts, job),
  keep: (before, change) => storeCheckpoint(parts.rows, [rangeRowsOf(job.id), name], before, change),
})
