/** What a plan reads of: between any two readings it looks whether the job still wants it. A large Group, or filters, may take minutes. */
import type { Job } from './job.ts'
import type { ExportParts } from './steps.ts'
import { Watch } from './watch.ts'

/** Error from the next reading on, where the job is not under way in its attempt any more. */
export function whileWanted(parts: ExportParts, job: Job): ExportParts {
  const watch = new Watch(parts, job)
  const wanted =
    <Asked extends readonly unknown[], Answer>(read: (...asked: Asked) => Promise<Answer>) =>
    async (...asked: Asked): Promise<Answer> => {
      if (!(await watch.isWanted())) throw new Error('The job is under way no more')
      return read(...asked)
    }
  const { resources, index } = parts
  return {
    ...parts,
    resources: {
      current: wanted((keys) => resources.current(keys)),
      heads: wanted((keys) => resources.heads(keys)),
      versions: wanted((keys) => resources.versions(keys)),
      history: wanted((...asked) => resources.history(...asked)),
      extent: wanted((...asked) => resources.extent(...asked)),
      settled: (...asked) => resources.settled(...asked),
      scan: (request) => resources.scan(request),
    },
    index: { find: wanted((plan) => index.find(plan)), distinct: wanted((...asked) => index.distinct(...asked)) },
  }
}
