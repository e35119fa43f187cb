/** Types of which the client of a job could find a resource. */
import { ALWAYS } from '../../ports/search/plan.ts'
import type { Job } from '../job/job.ts'
import type { ExportParts } from '../step-types.ts'
import { searcherOf } from './type-filters.ts'

/** Returns those of the types that hold a resource which the client may see: the job must not reveal the others. */
export async function storedTypes(
  { index, readingOf }: Pick<ExportParts, 'index' | 'readingOf'>,
  { tenant, access }: Pick<Job, 'tenant' | 'access'>,
  types: readonly string[],
): Promise<readonly string[]> {
  if (types.length === 0) return []
  const { rules } = searcherOf(tenant, access, await readingOf(tenant))
  const stored: string[] = []
  for (const type of types) {
    const { hits } = await index.find({ tenant, types: [type], where: ALWAYS, access: rules([type]), order: [], limit: 1, total: 'none' })
    if (hits.length > 0) stored.push(type)
  }
  return stored
}
