/** What one slice of a range has at hand. */
import { type Job, rangesOf } from '../job/job.ts'
import { Watch } from '../job/job-watch.ts'
import { selectionOf } from '../select/job-selection.ts'
import type { Selection } from '../select/selection.ts'
import type { ExportParts } from '../step-types.ts'
import { keepRow } from '../write/checkpoint.ts'
import type { Range } from './range.ts'

export type SliceOf = {
  readonly parts: ExportParts
  readonly job: Job
  readonly selection: Selection
  readonly watch: Watch
  /** Of `elapsed`. By then it leaves the rest to the next slice. */
  readonly until: number
  /** See keepRow. */
  readonly keep: (before: Range, change: Partial<Range>) => Promise<Range | undefined>
}

export const sliceOf = async (parts: ExportParts, job: Job, name: string): Promise<SliceOf> => ({
  ...{ parts, job, watch: new Watch(parts, job), until: parts.elapsed() + parts.budget },
  selection: await selectionOf(parts, job),
  keep: (before, change) => keepRow(parts.rows, [rangesOf(job.id), name], before, change),
})
