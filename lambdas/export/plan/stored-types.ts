/** Stored types that the client of a job can find. */
import { isWholeType } from '../../access/rules.ts'
import { FhirError } from '../../fhir/outcome.ts'
import { MachineFault } from '../../ports/faults.ts'
import { ALWAYS_TRUE } from '../../ports/search/plan.ts'
import type { Job } from '../job/job.ts'
import type { ExportParts } from '../step-types.ts'
import { searchAccessOf } from './type-filters.ts'

/**
 * Returns the types with at least one resource that the client may see. The job must not reveal other types. If the index is late or
 * unavailable, a type counts as stored if the client may see all of it. The result is only a remark in the manifest, so no export waits for
 * the index.
 */
export async function findStoredTypes(
  { index, readingOf, report }: Pick<ExportParts, 'index' | 'readingOf' | 'report'>,
  { tenant, access }: Pick<Job, 'tenant' | 'access'>,
  types: readonly string[],
): Promise<readonly string[]> {
  if (types.length === 0) return []
  const reading = await readingOf(tenant)
  const { rules } = searchAccessOf(tenant, access, reading)
  const stored: string[] = []
  for (const type of types) {
    const plan = { tenant, types: [type], where: ALWAYS_TRUE, access: rules([type]), order: [], limit: 1, total: 'none' } as const
    const isStored = await index.find(plan).then(
      ({ hits }) => hits.length > 0,
      (error: unknown) => {
        if (!(error instanceof MachineFault) && !(error instanceof FhirError)) throw error
        report(error)
        return isWholeType(access, type, 'r', reading) && isWholeType(access, type, 's', reading)
      },
    )
    if (isStored) stored.push(type)
  }
  return stored
}
