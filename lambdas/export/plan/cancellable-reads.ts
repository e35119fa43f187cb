/**
 * Reads of a plan that stop when the job is stopped or takes too long. A large Group or complex filters may take minutes. A plan that takes
 * longer than its step would be restarted forever and never finish.
 */
import { ExportFault } from '../job/export-fault.ts'
import type { Job } from '../job/job.ts'
import { JobWatch } from '../job/job-watch.ts'
import type { ExportParts } from '../step-types.ts'

/**
 * Returns the parts with checked reads. They throw Error once the attempt is no longer in progress, and ExportFault once the plan has taken
 * `longestPlan`. Scans, and the wait for settled writes, are not checked.
 */
export function withCancellableReads(parts: ExportParts, job: Job): ExportParts {
  const watch = new JobWatch(parts, job)
  const { longestPlan = Number.POSITIVE_INFINITY } = parts
  const until = parts.elapsed() + longestPlan
  const wanted =
    <Asked extends readonly unknown[], Answer>(read: (...asked: Asked) => Promise<Answer>) =>
    async (...asked: Asked): Promise<Answer> => {
      if (!(await watch.isWanted())) throw new Error('The job is under way no more')
      if (parts.elapsed() >= until) throw tooLong(longestPlan)
      return read(...asked)
    }
  const { resources, index } = parts
  return {
    ...parts,
    resources: {
      current: wanted((...asked) => resources.current(...asked)),
      heads: wanted((...asked) => resources.heads(...asked)),
      versions: wanted((...asked) => resources.versions(...asked)),
      history: wanted((...asked) => resources.history(...asked)),
      extent: wanted((...asked) => resources.extent(...asked)),
      settled: (...asked) => resources.settled(...asked),
      scan: (request) => resources.scan(request),
    },
    index: { find: wanted((plan) => index.find(plan)), distinct: wanted((...asked) => index.distinct(...asked)) },
  }
}

const tooLong = (longest: number): ExportFault =>
  new ExportFault(
    `What the export is narrowed to takes more than ${longest / 60_000} minutes to look up: narrow the chains and _has of its _typeFilters, or ask for a smaller Group`,
  )
