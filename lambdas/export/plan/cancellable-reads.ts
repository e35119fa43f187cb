/**
 * What a plan reads of: between any two readings it looks whether the job still wants it, and whether there is time left. A large Group, or
 * filters, may take minutes; what would take longer than a step lasts would be begun again and again, and never be done.
 */
import { ExportFault } from '../job/export-fault.ts'
import type { Job } from '../job/job.ts'
import { JobWatch } from '../job/job-watch.ts'
import type { ExportParts } from '../step-types.ts'

/** Error from the next reading on, where the job is not under way in its attempt any more; ExportFault where it takes too long. */
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
