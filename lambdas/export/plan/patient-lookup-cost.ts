/** Whether it is cheaper to look up the data of an export's patients (collect/patient-candidates.ts) than to scan the store for them. */
import type { ResourceReader } from '../../ports/store/resource-store.ts'
import type { Job } from '../job/job.ts'
import type { ExportPatients } from './group-members.ts'

/** A look-up costs about as much as so many versions of a scan. */
const DEARER = 10
const MOST = 5_000

/**
 * About what part of the store's patients they are; undefined where it is not cheaper. Since an instant a scan looks at nothing older: it is
 * always cheaper, unless all data of new members is wanted.
 */
export async function lookupShareOf(
  resources: Pick<ResourceReader, 'extent'>,
  { tenant, transactionTime, asked }: Pick<Job, 'tenant' | 'transactionTime' | 'asked'>,
  { patients, added }: ExportPatients,
): Promise<number | undefined> {
  if (patients.length > MOST || (asked.since !== undefined && added.length === 0)) return undefined
  const { entries } = await resources.extent({ tenant, type: 'Patient', asOf: transactionTime }, PLACES)
  return patients.length * DEARER <= entries ? patients.length / Math.max(1, entries) : undefined
}

/** Nobody asks for the cuts. */
const PLACES = 1_000_000
