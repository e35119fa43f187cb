/** What the versions of an export refer to that is exported too. */
import type { Job } from './job.ts'
import type { ReferencesIn } from './met.ts'
import type { ExportParts } from './steps.ts'

/** undefined: nothing. */
export async function referencesOf(_: ExportParts, __: Job): Promise<ReferencesIn | undefined> {
  return undefined
}
