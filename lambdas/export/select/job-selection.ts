/** Returns the selection of a planned job: the rules by which its writers choose versions. */
import type { Job } from '../job/job.ts'
import { exportTypesOf } from '../plan/exported-types.ts'
import { judgeOf } from '../plan/job-access.ts'
import { readJobScope } from '../plan/job-scope.ts'
import { typeSettingsOf } from '../plan/partner-types.ts'
import type { ExportParts } from '../step-types.ts'
import { versionsAsOf } from '../versions/versions-as-of.ts'
import type { Selection } from './selection.ts'

export async function selectionOf(parts: ExportParts, job: Job): Promise<Selection> {
  const [jobScope, judge] = await Promise.all([readJobScope(parts, job), judgeOf(parts, job)])
  const { custom } = jobScope
  const { resources } = parts
  const { types, levelTypes } = exportTypesOf(job, typeSettingsOf(parts, job))
  return {
    ...{ job, jobScope },
    judge: custom === undefined ? judge : { ...judge, reading: { ...judge.reading, custom } },
    types: new Set(types),
    ownership: {
      bases: judge.reading,
      levelTypes: new Set(levelTypes),
      before: async (deletion) => (await resources.versions([{ ...deletion, versionId: deletion.versionId - 1 }]))[0],
      asOf: (keys) => versionsAsOf(resources, keys, job.transactionTime),
      ...(job.partner === undefined ? {} : { isForPartner: true }),
    },
  }
}
