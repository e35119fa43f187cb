/** Who judges what a job may see: its token, as it was when the job was kicked off, as is what the server was called. */
import type { Judge } from '../../access/judge.ts'
import type { Job } from '../job/job.ts'
import type { ExportParts } from '../step-types.ts'

export async function judgeOf(
  parts: Pick<ExportParts, 'readingOf' | 'expressions' | 'resources'>,
  { access, tenant, baseUrl }: Job,
): Promise<Judge> {
  const { readingOf, expressions, resources } = parts
  const now = await readingOf(tenant)
  const reading = { ...now, otherBases: [...(now.otherBases ?? []), baseUrl] }
  return { access, reading, expressions, current: async (key) => (await resources.current([key]))[0] }
}
