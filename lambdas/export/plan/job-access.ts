/**
 * Access checks of a job. They use the access of the token at kick-off. References with the base URL of the kick-off also count as local.
 */
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
