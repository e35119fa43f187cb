/** Decides whether to look up the data of an export's patients (collect/patient-candidates.ts) or to scan the store. */
import type { ResourceReader } from '../../ports/store/resource-store.ts'
import type { Job } from '../job/job.ts'
import type { ExportPatients } from './group-members.ts'

/** Assumed cost of a lookup of one patient, in scanned Patients. So a scan is cheaper for more than one in ten Patients of the store. */
const DEARER = 10
const MAX_PATIENTS = 5_000

/**
 * Returns the share of the store's patients that the export covers, as an estimate. Returns undefined if a scan is cheaper or there are
 * more than MAX_PATIENTS. With `_since` a scan reads only newer entries, so it counts as cheaper unless all data of new members is
 * exported.
 */
export async function lookupShareOf(
  resources: Pick<ResourceReader, 'extent'>,
  { tenant, transactionTime, asked }: Pick<Job, 'tenant' | 'transactionTime' | 'asked'>,
  { patients, added }: ExportPatients,
): Promise<number | undefined> {
  if (patients.length > MAX_PATIENTS || (asked.since !== undefined && added.length === 0)) return undefined
  const { entries } = await resources.extent({ tenant, type: 'Patient', asOf: transactionTime }, PLACES)
  return patients.length * DEARER <= entries ? patients.length / Math.max(1, entries) : undefined
}

/** Entries per cut. It is large because the cuts are not used. */
const PLACES = 1_000_000
