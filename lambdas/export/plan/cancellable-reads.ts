/**
 * Reads of a plan that stop when the job is stopped or planning takes too long. A large Group or complex filters may take minutes. A plan
 * that takes longer than the time limit of its step would be restarted forever and never finish.
 */
import { ExportFault } from '../job/export-fault.ts'
import type { Job } from '../job/job.ts'
import { JobWatch } from '../job/job-watch.ts'
import type { ExportParts } from '../step-types.ts'

/**
 * Returns the parts with checked reads. These throw Error if the attempt is no longer in progress, and ExportFault after `longest`
 * milliseconds. Scans and the wait for settled writes are not checked.
 */
export function withCancellableReads(parts: ExportParts, job: Job, longest = Number.POSITIVE_INFINITY): ExportParts {
  const watch = new JobWatch(parts, job)
  const until = parts.elapsed() + longest
  const checked =
    <Args extends readonly unknown[], Answer>(read: (...args: Args) => Promise<Answer>) =>
    async (...args: Args): Promise<Answer> => {
      if (!(await watch.isWanted())) throw new Error('The job is no longer in progress')
      if (parts.elapsed() >= until) throw tooLong(longest)
      return read(...args)
    }
  const { resources, index } = parts
  return {
    ...parts,
    resources: {
      current: checked((...args) => resources.current(...args)),
      heads: checked((...args) => resources.heads(...args)),
      versions: checked((...args) => resources.versions(...args)),
      history: checked((...args) => resources.history(...args)),
      extent: checked((...args) => resources.extent(...args)),
      settled: (...args) => resources.settled(...args),
      scan: (request) => resources.scan(request),
    },
    index: { find: checked((plan) => index.find(plan)), distinct: checked((...args) => index.distinct(...args)) },
  }
}

const tooLong = (longest: number): ExportFault =>
  new ExportFault(
    `What the export is narrowed to takes more than ${longest / 60_000} minutes to look up: narrow the chains and _has of its _typeFilters, or ask for a smaller Group`,
  )
