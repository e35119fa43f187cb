/** What a planned job exports, for its writers. */
import { versionsAsOf } from './as-of.ts'
import type { Job } from './job.ts'
import { judgeOf } from './judge-of.ts'
import { narrowedOf } from './narrowed.ts'
import type { Selection } from './selection.ts'
import type { ExportParts } from './steps.ts'
import { typesOf } from './types-of.ts'

export async function selectionOf(parts: ExportParts, job: Job): Promise<Selection> {
  const [narrowed, judge] = await Promise.all([narrowedOf(parts, job), judgeOf(parts, job)])
  const { custom } = narrowed
  const { resources } = parts
  const { types, levelTypes } = typesOf(job, parts)
  return {
    ...{ job, narrowed },
    judge: custom === undefined ? judge : { ...judge, reading: { ...judge.reading, custom } },
    types: new Set(types),
    whose: {
      bases: judge.reading,
      levelTypes: new Set(levelTypes),
      before: async (deletion) => (await resources.versions([{ ...deletion, versionId: deletion.versionId - 1 }]))[0],
      asOf: (keys) => versionsAsOf(resources, keys, job.transactionTime),
    },
  }
}
