/** What a planned job exports, for its writers. */
import type { Job } from './job.ts'
import { judgeOf } from './judge-of.ts'
import { narrowedOf } from './narrowed.ts'
import type { Selection } from './selection.ts'
import type { ExportParts } from './steps.ts'
import { typesOf } from './types-of.ts'

export async function selectionOf(parts: ExportParts, job: Job): Promise<Selection> {
  const [narrowed, judge] = await Promise.all([narrowedOf(parts, job), judgeOf(parts, job)])
  return {
    ...{ job, narrowed, judge },
    types: new Set(typesOf(job, parts).types),
    before: async (deletion) => (await parts.resources.versions([{ ...deletion, versionId: deletion.versionId - 1 }]))[0],
  }
}
